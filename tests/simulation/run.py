"""Runs seeds: ``python -m simulation.run 17`` replays one; ``--count 1000`` runs many.

What is printed of one seed is its plan, its story in simulated time, and what was found.
"""

import argparse
import logging
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from random import Random

from simulation.checks import Defects, Told, check_deliveries, check_failures, check_stored
from simulation.faults import Faults
from simulation.history import History
from simulation.plan import LENGTH_S, draw
from simulation.planted import PLANTED
from simulation.replay import FOUND
from simulation.workload import CLIENT, Consumers, Publisher, subscribe

from magnetar.broker.resources import Resources
from magnetar.errors import MagnetarError, TimedOut
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.testing.simulation.cluster import SimulatedCluster
from magnetar.testing.simulation.loop import BEGIN_S, Stuck
from magnetar.testing.simulation.processes import Process

PATIENCE_S = 300.0
"""So long after the last fault everything must have ended, in simulated time."""


@dataclass(frozen=True)
class Outcome:
    """What became of a plan."""

    seed: int
    findings: tuple[str, ...]
    story: str
    simulated_s: float
    cpu_s: float
    messages: int


def run(plan, log=logging.ERROR):
    """Carry out a plan; what is logged from a level on is told in the story, if that is lower."""
    began = time.process_time()
    cluster = SimulatedCluster(
        Random(f"cluster {plan.seed}"),
        brokers=plan.brokers,
        bookies=plan.bookies,
        settings=plan.settings,
    )
    cluster.seed = plan.seed
    history = History(cluster, plan.keep_alive_s)
    defects = Defects(history)
    root = logging.getLogger()
    level = root.level
    handlers = [defects, *([Told(cluster)] if log < logging.ERROR else [])]
    for each in handlers:
        root.addHandler(each)
    root.setLevel(log)
    try:
        cluster.run(_whole(cluster, plan, history))
    except Stuck as error:
        history.find(f"stuck: {error}")
    except Exception as error:  # noqa: BLE001 - it is a finding as well
        history.find(f"the run failed: {error!r}")
    finally:
        for each in handlers:
            root.removeHandler(each)
        root.setLevel(level)
    check_failures(history, cluster.loop)
    simulated_s = cluster.loop.time() - BEGIN_S
    cpu_s = time.process_time() - began
    story = "\n".join(cluster.story)
    return Outcome(
        plan.seed, tuple(history.findings), story, simulated_s, cpu_s, len(history.answered)
    )


async def _whole(cluster, plan, history):
    await cluster.start()
    cluster.prepared = lambda process: setattr(
        process.clock, "rate", plan.rates.get(process.name, 1.0)
    )
    await Process("operator").run(_create_topics(plan))
    cluster.network.latency_s = plan.latency_s
    cluster.network.torn = plan.torn
    cluster.ensemble.lag_s_max = plan.lag_s
    cluster.ensemble.lost_answers = plan.lost_answers
    faults = Faults(cluster, plan.faults)
    faults.schedule()
    consumers = [Consumers(each, history, cluster) for each in plan.subscribing]
    publishers = [Publisher(each, history, cluster) for each in plan.producing]
    for each in [*consumers, *publishers]:
        each.start()
    await cluster.sleep(LENGTH_S)
    history.note("world", "all is well from now on")
    faults.end()
    if not await cluster.until(lambda: all(each.ended for each in publishers), PATIENCE_S):
        left = [each.plan.name for each in publishers if not each.ended]
        history.find(f"not all was published in {PATIENCE_S:g} s: {left}")
        return
    await cluster.sleep(30.0)  # Transactions that nobody ended are aborted.
    for each in consumers:
        each.stop()
    process, client = cluster.new_client("reader", **CLIENT)
    read = process.run(_read_all(client, plan, history, process))
    if not await cluster.until(read.done, PATIENCE_S):
        history.find("not all could be read in time")
        return
    check_deliveries(history, plan)
    check_stored(history, plan, read.result())


async def _create_topics(plan):
    """As an operator does, before anything goes wrong."""
    metadata = await ZooKeeperMetadataStore.open(ZooKeeperSettings(servers="zookeeper:2181"))
    resources = Resources(metadata, "standalone", codec=PulsarCodec())
    for topic, partitions in plan.partitions.items():
        if partitions:
            await resources.create_partitioned_topic(TopicName.parse(topic), partitions)
    resources.close()
    await metadata.close()


async def _read_all(client, plan, history, process):
    """Receive what is left of each subscription, then all that is stored."""
    for subscribing in plan.subscribing:
        consumer = await _again(process, lambda each=subscribing: subscribe(client, each))
        since = history.now
        while True:
            try:
                message = await consumer.receive(timeout_s=8.0)
            except TimedOut:
                break
            number, entry = history.was_delivered(subscribing, "reader", since, message)
            await consumer.acknowledge(message)
            history.was_acknowledged(subscribing, "reader", number, entry)
        await consumer.close()
    stored = {}
    for topic in plan.partitions:
        reader = await _again(
            process, lambda each=topic: client.create_reader(each, EARLIEST_MESSAGE)
        )
        found = stored[topic] = []
        while await _again(process, reader.has_message_available):
            found.append(await reader.receive())
        await reader.close()
    return stored


async def _again(process, ask):
    while True:
        try:
            return await ask()
        except MagnetarError:
            await process.clock.sleep(1.0)


def told(outcome):
    """One line on an outcome."""
    state = f"{len(outcome.findings)} FINDINGS: {outcome.findings[0]}" if outcome.findings else "ok"
    return (
        f"seed {outcome.seed}: {outcome.messages} messages, {outcome.simulated_s:.0f} s simulated "
        f"in {outcome.cpu_s:.2f} s, {state}"
    )


def run_seed(seed, plant=None, log=logging.ERROR):
    """In a process of its own; ``plant`` is a fault in the code."""
    warnings.simplefilter("ignore", RuntimeWarning)  # Of what nobody awaits any more.
    with PLANTED[plant]() if plant else nullcontext():
        return run(draw(seed), log)


def _outcomes(seeds, arguments):
    work = partial(run_seed, plant=arguments.plant)
    if arguments.processes == 1:
        yield from map(work, seeds)
        return
    with ProcessPoolExecutor(arguments.processes, max_tasks_per_child=50) as pool:
        try:
            yield from pool.map(work, seeds)
        finally:
            pool.shutdown(cancel_futures=True)


def main():
    parser = argparse.ArgumentParser(prog="simulation.run")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--log", action="store_true", help="with what the processes log")
    parser.add_argument("--plant", choices=list(PLANTED), help="a fault in the code")
    parser.add_argument("--stop", action="store_true", help="end with the first finding")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if arguments.seed is not None:
        plan = draw(arguments.seed)
        outcome = run_seed(
            arguments.seed, arguments.plant, logging.INFO if arguments.log else logging.ERROR
        )
        print(plan.shown(), outcome.story, *outcome.findings, told(outcome), sep="\n")
        return FOUND if outcome.findings else 0
    seeds = range(arguments.first, arguments.first + arguments.count)
    ran, failed, simulated_s, cpu_s = 0, [], 0.0, 0.0
    for outcome in _outcomes(seeds, arguments):
        ran += 1
        simulated_s += outcome.simulated_s
        cpu_s += outcome.cpu_s
        if outcome.findings:
            failed.append(outcome.seed)
            print(told(outcome), flush=True)
            if arguments.stop:
                break
    print(
        f"{ran} seeds, {len(failed)} with findings {failed}; {simulated_s / 3600:.1f} hours "
        f"simulated in {cpu_s / 3600:.3f} hours of CPU"
    )
    return FOUND if failed else 0


if __name__ == "__main__":
    sys.exit(main())
