"""Runs seeds: ``python -m simulation.run 17`` replays one; ``--count 1000`` runs many.

What is printed of one seed is its plan, its story in simulated time, and what was found. Where that
is something, the plan is made smaller first.
"""

import argparse
import gc
import logging
import os
import re
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from random import Random

from simulation.alone import Alone, AloneFaults, draw_alone
from simulation.alone_planted import PLANTED_IN_THE_LOG
from simulation.checks import (
    Defects,
    Told,
    check_compacted,
    check_cursors,
    check_deliveries,
    check_failures,
    check_leaks,
    check_records,
    check_seeking,
    check_stored,
)
from simulation.faults import Faults, operate
from simulation.history import History
from simulation.plan import LENGTH_S, draw
from simulation.planted import PLANTED
from simulation.reading import READ_S, all_of, receive_left
from simulation.regions import RegionsPlan, carry_out, draw_regions, made
from simulation.regions_planted import PLANTED_IN_REPLICATION
from simulation.replay import FOUND
from simulation.shrink import shrink
from simulation.stats import are_recorded, check_backlogs, check_logs, check_nothing_left
from simulation.workload import CLIENT, Consumers, Publisher, Seeker

from magnetar.model.names import TopicName
from magnetar.testing.simulation.cluster import SimulatedCluster
from magnetar.testing.simulation.loop import BEGIN_S, Stuck
from magnetar.testing.simulation.processes import Process

PATIENCE_S = 120.0
"""When all is well something is published in so long, in simulated time, until all is."""
RECORDED_S = 5.0
"""In so long a broker has done what it has recorded of a topic."""

FAULTY = PLANTED | PLANTED_IN_REPLICATION | PLANTED_IN_THE_LOG
SHOWN_MAX = 5
"""Of so many findings the lines that are about them are printed once more."""


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
    several = isinstance(plan, RegionsPlan)
    cluster = made(plan) if several else _made(plan)
    history = History(cluster, plan)
    defects = Defects(history)
    check_cursors(history)
    root = logging.getLogger()
    level = root.level
    handlers = [defects, *([Told(cluster)] if log < logging.ERROR else [])]
    for each in handlers:
        root.addHandler(each)
    root.setLevel(log)
    try:
        cluster.run((carry_out if several else _whole)(cluster, plan, history))
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


def _made(plan):
    if plan.alone:
        cluster = Alone(Random(f"alone {plan.seed}"), settings=plan.settings)
        cluster.seed = plan.seed
        return cluster
    cluster = SimulatedCluster(
        Random(f"cluster {plan.seed}"),
        brokers=plan.brokers,
        bookies=plan.bookies,
        settings=plan.settings,
    )
    cluster.seed = plan.seed
    return cluster


async def _whole(cluster, plan, history):
    await cluster.start()
    cluster.prepared = lambda process: setattr(
        process.clock, "rate", plan.rates.get(process.name, 1.0)
    )
    await Process("operator").run(_create_topics(cluster, plan))
    cluster.network.latency_s = plan.latency_s
    cluster.network.torn = plan.torn
    cluster.ensemble.lag_s_max = plan.lag_s
    cluster.ensemble.lost_answers = plan.lost_answers
    faults = (AloneFaults if plan.alone else Faults)(cluster, plan, history)
    faults.schedule()
    consumers = [Consumers(each, history, cluster) for each in plan.subscribing]
    publishers = [Publisher(each, history, cluster) for each in plan.producing]
    seekers = [Seeker(each, history, cluster) for each in plan.seeking]
    for each in [*consumers, *publishers, *seekers]:
        each.start()
    await cluster.sleep(LENGTH_S)
    history.note("world", "all is well from now on")
    faults.end()
    while not await cluster.until(lambda: all(each.ended for each in publishers), PATIENCE_S):
        if max(each.moved_s for each in publishers) < cluster.loop.time() - PATIENCE_S:
            left = [each.plan.name for each in publishers if not each.ended]
            history.find(f"nothing is published any more in {PATIENCE_S:g} s, not all: {left}")
            return
    well_s = cluster.loop.time()
    await cluster.sleep(plan.ended_s)
    for each in [*consumers, *seekers]:
        each.stop()
    await cluster.sleep(5.0)
    await _settled(history, plan)
    check_logs(history, plan)
    check_backlogs(history, plan)
    process, client = cluster.new_client("reader", **CLIENT)
    read = process.run(_read_all(client, plan, history, process))
    if not await cluster.until(read.done, READ_S):
        history.find(f"not all could be read in {READ_S:g} s")
        return
    stored, letters, compacted = read.result()
    await _settled(history, plan)
    check_logs(history, plan)
    check_nothing_left(history, plan)
    check_deliveries(history, plan, letters)
    check_stored(history, plan, stored)
    check_seeking(history, seekers, stored)
    check_compacted(history, stored, compacted)
    check_records(history, well_s)
    closed = process.run(client.close())
    await cluster.until(closed.done)
    await cluster.sleep(5.0)
    await cluster.until(lambda: not _offloads(cluster), READ_S)
    before = {task for each in cluster.brokers for task in each.process.tasks}
    await cluster.sleep(20.0)
    check_leaks(history, before)


async def _settled(history, plan):
    """Wait while a broker notes what it has just recorded of a topic."""
    if not plan.alone:
        await history.cluster.until(lambda: are_recorded(history), RECORDED_S)


def _offloads(cluster):
    """Whether ledgers are being offloaded: what is due is begun late, and each takes a while."""
    tasks = [task for each in cluster.brokers for task in each.process.tasks]
    return any(task.get_name().startswith("offload ") for task in tasks)


async def _create_topics(cluster, plan):
    """As an operator does, before anything goes wrong."""

    async def create(resources):
        for topic, partitions in plan.partitions.items():
            if partitions:
                await resources.create_partitioned_topic(TopicName.parse(topic), partitions)

    await operate(cluster, create)


async def _read_all(client, plan, history, process):
    """Receive what is left of each subscription, then all that is stored."""
    for subscribing in plan.subscribing:
        await receive_left(client, subscribing, history, process)
    stored = {topic: await all_of(client, topic, process) for topic in plan.partitions}
    letters = {
        each.dead_letters: await all_of(client, each.dead_letters, process)
        for each in plan.subscribing
        if each.redeliveries_max
    }
    compacted = {}
    if plan.compacted and plan.retained:
        for topic in plan.partitions:
            compacted[topic] = await all_of(client, topic, process, read_compacted=True)
    return stored, letters, compacted


def told(outcome):
    """One line on an outcome."""
    state = f"{len(outcome.findings)} FINDINGS: {outcome.findings[0]}" if outcome.findings else "ok"
    return (
        f"seed {outcome.seed}: {outcome.messages} messages, {outcome.simulated_s:.0f} s simulated "
        f"in {outcome.cpu_s:.2f} s, {state}"
    )


def run_seed(seed, plant=None, drawn=draw):
    """In a process of its own; ``plant`` is a fault in the code."""
    return _run_planted(drawn(seed), plant)


def _run_planted(plan, plant, log=logging.ERROR):
    warnings.simplefilter("ignore", RuntimeWarning)  # Of what nobody awaits any more.
    with FAULTY[plant]() if plant else nullcontext():
        return run(plan, log)


def _tell(arguments):
    """Print the story of one seed: where something is found, of a smaller plan with the same."""
    plan = arguments.drawn(arguments.seed)
    log = logging.INFO if arguments.log else logging.ERROR
    outcome = _run_planted(plan, arguments.plant, log)
    if outcome.findings and not arguments.whole:
        work = partial(_run_planted, plant=arguments.plant, log=log)
        plan, outcome = shrink(plan, outcome, work)
    print(plan.shown(), outcome.story, sep="\n")
    for finding in outcome.findings[:SHOWN_MAX]:
        print("\nFINDING", finding, *_about(finding, outcome.story), sep="\n")
    print(told(outcome))
    return FOUND if outcome.findings else 0


def _about(finding, story):
    """The lines of a story that are about the message of a finding."""
    message = re.match(r"(\S+):(\d+) ", finding)
    if message is None:
        return []
    producer, number = message.groups()
    ours = re.compile(
        rf" {producer}:{number}\b| {producer} +(sends|is answered|does not know of) {number}\b"
    )
    return [line for line in story.splitlines() if ours.search(line)]


def _outcomes(seeds, arguments):
    work = partial(run_seed, plant=arguments.plant, drawn=arguments.drawn)
    if arguments.processes == 1:
        yield from map(work, seeds)
        return
    with ProcessPoolExecutor(arguments.processes, max_tasks_per_child=50) as pool:
        try:
            yield from pool.map(work, seeds)
        finally:
            pool.shutdown(cancel_futures=True)


def main():
    if "PYTHONHASHSEED" not in os.environ:  # Else the order of sets of texts follows from nothing.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "simulation.run", *sys.argv[1:]])
    parser = argparse.ArgumentParser(prog="simulation.run")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--log", action="store_true", help="with what the processes log")
    parser.add_argument("--whole", action="store_true", help="of one seed the plan as it is drawn")
    parser.add_argument("--plant", choices=list(FAULTY), help="a fault in the code")
    parser.add_argument("--digests", action="store_true", help="say of each story which it is")
    for option, drawn, about in [
        ("--regions", draw_regions, "clusters that replicate"),
        ("--alone", draw_alone, "brokers without a cluster, whose disks fail"),
    ]:
        parser.add_argument(
            option, action="store_const", dest="drawn", const=drawn, default=draw, help=about
        )
    parser.add_argument("--stop", action="store_true", help="end with the first finding")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    gc.collect()
    gc.freeze()  # A collection after each seed looks at what is of that seed.
    if arguments.seed is not None:
        return _tell(arguments)
    seeds = range(arguments.first, arguments.first + arguments.count)
    ran, failed, simulated_s, cpu_s = 0, [], 0.0, 0.0
    for outcome in _outcomes(seeds, arguments):
        ran += 1
        simulated_s += outcome.simulated_s
        cpu_s += outcome.cpu_s
        if arguments.digests:
            print(outcome.seed, sha256(outcome.story.encode()).hexdigest()[:16], flush=True)
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
