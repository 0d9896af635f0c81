"""Functions as people write them for Apache Pulsar."""
# ruff: noqa: A002 - the name of the parameter is Pulsar's.

import json
import threading

from pulsar import Function, SerDe


def process(input):
    return input * 2


class Double(Function):
    def process(self, input, context):
        return input * 2


class Careful(Function):
    """Fails for 13, as often as it comes."""

    def process(self, input, context):
        if input == 13:
            context.publish("never", "sent")
            raise ValueError("thirteen")
        return input


class Hesitant(Function):
    """Fails for a number when it comes first."""

    def __init__(self):
        self.seen = set()

    def process(self, input, context):
        if input not in self.seen:
            self.seen.add(input)
            raise ValueError("not yet")
        return input


class Counting(Function):
    def process(self, input, context):
        context.incr_counter("all", 1)
        context.put_state("last", str(input))
        return context.get_counter("all")


class Telling(Function):
    """Says all that it is told."""

    def process(self, input, context):
        context.get_logger().warning("got %s", input)
        context.record_metric("size", len(str(input)))
        context.publish(
            "elsewhere",
            {"input": input},
            "user_code.Json",
            properties={"a": "b"},
            callback=lambda result, _id: context.put_state("published", result.name),
            message_conf={"partition_key": "k"},
        )
        return json.dumps(
            [
                context.get_message_key(),
                context.get_message_properties(),
                context.get_message_eventtime(),
                context.get_current_message_topic_name(),
                context.get_function_id(),
                context.get_instance_id(),
                context.get_user_config_value("factor"),
                context.get_secret("password"),
            ]
        )


class Acknowledging(Function):
    """Is done with even numbers."""

    def process(self, input, context):
        if input % 2 == 0:
            context.ack(context.get_message_id(), context.get_current_message_topic_name())


class Sum(Function):
    def process(self, inputs, context):
        return sum(inputs)


class SumOfTimed:
    """Inputs are ``[time, number]``."""

    def process(self, inputs, context):
        return [context.get_window_end(), sum(number for _, number in inputs)]


class Time:
    def extract_timestamp(self, input):
        return input[0]


class Json(SerDe):
    def serialize(self, input):
        return json.dumps(input).encode()

    def deserialize(self, input_bytes):
        return json.loads(input_bytes)


class Tallying(Function):
    """Counts what comes of each key."""

    def process(self, input, context):
        context.incr_counter(f"key {context.get_message_key()}", 1)
        return input


class Slow(Function):
    """The first to get a message waits until another instance has got it, too."""

    first = threading.Lock()
    again = threading.Event()

    def process(self, input, context):
        if self.first.acquire(blocking=False):
            self.again.wait(10.0)
        self.again.set()
        return input


class Misdirecting(Function):
    """Sends 13 where nothing can be, and 14 to what is no topic."""

    def process(self, input, context):
        if input == 13:
            context.publish("no-tenant/no-namespace/topic", input)
        if input == 14:
            context.publish("a/b/c/d/e", input)
        return input
