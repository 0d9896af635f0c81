"""The clients of a simulated cluster: the real one, as applications use it that never give up."""

import asyncio
from random import Random

from simulation.history import Number, number_of
from simulation.plan import TRANSACTION_S

from magnetar.client.consumers.dead_letter_policy import DeadLetterPolicy
from magnetar.errors import MagnetarError
from magnetar.model.subscriptions import InitialPosition

RETRY_S = 1.0
CLIENT = {"operation_timeout_s": 10.0, "backoff_max_s": 5.0}


class Publisher:
    """Publishes all its numbers, whatever happens to it."""

    def __init__(self, plan, history, cluster):
        self.plan = plan
        self.ended = False
        self.moved_s = 0.0  # When something became of its messages last.
        self._history = history
        self._cluster = cluster
        self._client_options = {**CLIENT, "keep_alive_interval_s": history.keep_alive_s}
        self._random = Random(f"{plan.name} {cluster.seed}")
        self._next = 0
        self._deaths = list(plan.dies_at)
        self._client_number = 0

    def start(self):
        """Begin, or begin again after a death."""
        self._client_number += 1
        process, client = self._cluster.new_client(self.plan.name, **self._client_options)
        self.process = process
        process.run(self._publish(process, client))

    async def _publish(self, process, client):
        plan, clock = self.plan, process.clock
        options = {"name": plan.name} if plan.again else {}
        while True:
            try:
                producer = await client.create_producer(
                    plan.topic,
                    batching=plan.batching,
                    batch_delay_s=0.01,
                    batch_by_key=plan.by_key,
                    send_timeout_s=0 if plan.again else 30.0,
                    chunking=plan.chunked,
                    **options,
                )
                break
            except MagnetarError as error:
                self._history.note(plan.name, f"cannot publish: {error!r}")
                await clock.sleep(RETRY_S)
        if plan.again:
            unanswered = [
                number
                for number in range(self._next)
                if Number(plan.name, number) not in self._history.answered
            ]
            self._next = min(unanswered, default=self._next)
        tasks = []
        while self._next < plan.messages:
            if self._deaths and self._next >= self._deaths[0]:
                self._deaths.pop(0)
                self._die()
                return
            if plan.transactions:
                await self._transaction(client, producer)
            else:
                tasks.append(asyncio.create_task(self._send(producer, self._take())))
            await clock.sleep(self._random.uniform(0, 2 * plan.pause_s))
        await asyncio.gather(*tasks)
        try:
            await client.close()
        except MagnetarError as error:
            self._history.note(plan.name, f"does not close: {error!r}")
        self._history.note(plan.name, "has published all")
        self.ended = True

    def _take(self):
        self._next += 1
        return self._next - 1

    def _die(self):
        loop = asyncio.get_running_loop()
        loop.call_soon(self._killed, context=self._cluster.world)

    def _killed(self):
        self._cluster.kill_client(self.process)
        self._cluster.loop.call_later(RETRY_S, self.start)

    async def _send(self, producer, n, txn=None):
        plan, history = self.plan, self._history
        number = Number(plan.name, n)
        key = f"key-{n % plan.keys}" if plan.keys else None
        value = f"{plan.name}:{n}|".encode() + b"x" * plan.size
        details = {"key": key} if key else {}
        if plan.again:
            details["sequence_id"] = n
        if plan.late_s and self._random.random() < 0.3:
            details["deliver_after_s"] = self._random.uniform(1.0, plan.late_s)
        history.was_sent(number, plan.topic, key, details.get("deliver_after_s", 0.0))
        try:
            message_id = await producer.send(value, txn=txn, **details)
        except MagnetarError as error:
            history.note(plan.name, f"does not know of {n}: {error!r}")
            return False
        self.moved_s = history.now
        if txn is None:
            history.was_answered(number, message_id)
        return True

    async def _transaction(self, client, producer):
        history, plan = self._history, self.plan
        numbers = [self._take() for _ in range(min(plan.transactions, plan.messages - self._next))]
        group = tuple(Number(plan.name, n) for n in numbers)
        history.committed[group] = None
        aborts = self._random.random() < 0.25
        try:
            txn = await client.transaction(timeout_s=TRANSACTION_S)
            sent = await asyncio.gather(*(self._send(producer, n, txn) for n in numbers))
            if aborts or not all(sent):
                await txn.abort()
                history.committed[group] = False
                history.note(plan.name, f"aborted {numbers}")
            else:
                await txn.commit()
                history.committed[group] = True
                for number in group:
                    history.answered[number] = history.now
                history.note(plan.name, f"committed {numbers}")
        except MagnetarError as error:
            history.note(plan.name, f"does not know how {numbers} ended: {error!r}")


class Consumers:
    """All consumers of one subscription."""

    def __init__(self, plan, history, cluster):
        self.plan = plan
        self._history = history
        self._cluster = cluster
        self._client_options = {**CLIENT, "keep_alive_interval_s": history.keep_alive_s}
        self._random = Random(f"{plan.topic} {plan.name} {cluster.seed}")
        self._stopping = False
        self._running = {}
        self._count = 0

    def start(self):
        for number in range(self.plan.consumers):
            self._start_one(number)

    def _start_one(self, number):
        if self._stopping:
            return
        self._count += 1
        name = f"{self.plan.topic[6:]}/{self.plan.name[13:]}/{self._count}"
        process, client = self._cluster.new_client(f"consumer-{name}", **self._client_options)
        self._running[number] = process
        process.run(self._consume(process, client))
        if self.plan.lives_s < 1000:
            self._cluster.loop.call_later(
                self._random.expovariate(1 / self.plan.lives_s), self._replace, number, process
            )

    def _replace(self, number, process):
        if self._running.get(number) is process:
            self._cluster.kill_client(process)
            self._start_one(number)

    def stop(self):
        """Kill them all."""
        self._stopping = True
        for process in self._running.values():
            self._cluster.kill_client(process)
        self._running.clear()

    async def _consume(self, process, client):
        history, plan = self._history, self.plan
        letters = {}
        if plan.redeliveries_max:
            letters["dead_letter_policy"] = DeadLetterPolicy(
                plan.redeliveries_max, dead_letter_topic=plan.dead_letters
            )
        while True:
            try:
                since = history.now  # Of several partitions some deliver before the last is here.
                consumer = await subscribe(client, plan, receiver_queue_size=plan.queue, **letters)
                history.subscribed.setdefault((plan.topic, plan.name), history.now)
                while True:
                    message = await consumer.receive()
                    await self._one(process.name, client, consumer, since, message)
                    if plan.work_s:
                        await process.clock.sleep(self._random.uniform(0, 2 * plan.work_s))
            except MagnetarError as error:
                history.note(process.name, f"consumes no more: {error!r}")
                await process.clock.sleep(RETRY_S)

    async def _one(self, name, client, consumer, since, message):
        plan, history = self.plan, self._history
        number, entry = history.was_delivered(plan, name, since, message)
        chance = self._random.random()
        if chance < plan.refused:
            consumer.negative_acknowledge(message)
        elif chance >= plan.refused + plan.forgotten:
            done = (plan, name, number, entry)
            if plan.cumulative:
                history.asks_cumulatively(plan, name, since, message)
                await self._acknowledge(consumer.acknowledge_cumulative(message), None)
            elif plan.in_transactions and chance > 0.7:
                work = self._acknowledge_in_transaction(client, consumer, message, done)
                asyncio.create_task(work)  # noqa: RUF006
            else:
                history.asks(plan, number)
                work = self._acknowledge(consumer.acknowledge(message), done)
                asyncio.create_task(work)  # noqa: RUF006

    async def _acknowledge(self, asked, done):
        try:
            await asked
        except MagnetarError:
            return
        if done is not None:
            self._history.was_acknowledged(*done)

    async def _acknowledge_in_transaction(self, client, consumer, message, done):
        plan, name, number, what = done
        try:
            txn = await client.transaction(timeout_s=TRANSACTION_S)
            span = self._history.is_pending(plan, number, what)
            await consumer.acknowledge(message, txn=txn)
            if self._random.random() < 0.3:
                await txn.abort()
                span[1] = self._history.now
                self._history.note(name, f"takes back that it has acknowledged {number}")
            else:
                self._history.asks(plan, number)
                await txn.commit()
                span[1] = span[0]
                self._history.was_acknowledged(*done, in_transaction=True)
        except MagnetarError as error:
            self._history.note(name, f"cannot acknowledge {number} in a transaction: {error!r}")


class Seeker:
    """Reads a topic to and fro."""

    def __init__(self, topic, history, cluster):
        self.topic = topic
        self.seen = []  # Behind which message it begins, or None, and what it received then.
        self._history = history
        self._cluster = cluster
        self._random = Random(f"seek {topic} {cluster.seed}")

    def start(self):
        name = f"seeker-{self.topic[6:]}"
        process, client = self._cluster.new_client(
            name, **CLIENT, keep_alive_interval_s=self._history.keep_alive_s
        )
        self.process = process
        process.run(self._read(process, client))

    def stop(self):
        self._cluster.kill_client(self.process)

    async def _read(self, process, client):
        known = []
        while True:
            await process.clock.sleep(self._random.uniform(0.5, 5.0))
            behind = self._random.choice(known) if known and self._random.random() < 0.8 else None
            here = []
            try:
                reader = await client.create_reader(self.topic, receiver_queue_size=10)
                if behind is not None:
                    await reader.seek(behind.message_id, inclusive=False)
                self.seen.append((behind and number_of(behind), here))
                for _ in range(self._random.choice([1, 5, 50])):
                    message = await reader.receive(timeout_s=3.0)
                    here.append(number_of(message))
                    known.append(message)
                await reader.close()
            except MagnetarError as error:
                self._history.note(process.name, f"reads no more: {error!r}")


async def subscribe(client, plan, **options):
    """A consumer as the plan of a subscription has it."""
    shared = {} if plan.type.single_active else {"negative_ack_delay_s": 1.0}
    return await client.subscribe(
        plan.topic,
        plan.name,
        type=plan.type,
        initial_position=InitialPosition.EARLIEST,
        ack_receipts=True,
        ack_group_time_s=0.02,
        batch_index_ack=plan.indexes,
        **shared,
        **options,
    )
