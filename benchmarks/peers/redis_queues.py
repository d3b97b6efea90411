"""RQ, Celery and huey on a Redis server: no-op tasks done as often as stdin says. Imports nothing of dibs.

`python -I redis_queues.py NAME URL`, run by the bench with the interpreter of its own environment: a number on stdin,
and that many tasks are put into the queue (not timed) and done by the peer's own worker in this process, as its
documentation shows; the µs of each go to stdout as JSON. RQ's SimpleWorker and Celery's solo worker are timed as a
whole, from the first task to the last, and each task gets the mean. All three store a result.

What they do not do: RQ records which worker has a task, but none of the three refuses the result of a worker that has
lost its task; Celery and huey remove a task from the queue before it is done, by default.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def nothing() -> None:
    """The task."""


def of_rq(url: str) -> Callable[[int], list[float]]:
    """Put into a Queue, done by a SimpleWorker until it is empty."""
    rq, redis = importlib.import_module("rq"), importlib.import_module("redis")
    logging.getLogger("rq.worker").setLevel(logging.ERROR)
    connection = redis.Redis.from_url(url)
    queue = rq.Queue("bench", connection=connection)

    def burst(times: int) -> list[float]:
        for _ in range(times):
            queue.enqueue("redis_queues.nothing", result_ttl=60)
        worker = rq.SimpleWorker([queue], connection=connection)
        before = time.perf_counter_ns()
        worker.work(burst=True, logging_level="ERROR")
        return [(time.perf_counter_ns() - before) / 1000 / times] * times

    return burst


def of_celery(url: str) -> Callable[[int], list[float]]:
    """Sent, done by a solo worker; the last one tells it to stop."""
    celery: Any = importlib.import_module("celery")
    state: Any = importlib.import_module("celery.worker.state")
    app = celery.Celery("bench", broker=url, backend=url)
    app.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=True, result_expires=60)
    moments: list[int] = []

    def noop() -> None:
        moments.append(time.perf_counter_ns())

    def last() -> None:
        moments.append(time.perf_counter_ns())
        state.should_stop = 0

    tasks = [app.task(function, name=f"bench.{function.__name__}") for function in (noop, last)]

    def burst(times: int) -> list[float]:
        moments.clear()
        for _ in range(times):
            tasks[0].delay()
        tasks[1].delay()
        worker = app.Worker(
            pool="solo", concurrency=1, loglevel="ERROR", quiet=True,
            without_gossip=True, without_mingle=True, without_heartbeat=True,
        )  # fmt: skip
        try:
            worker.start()
        finally:
            state.should_stop = None
        return [(moments[-1] - moments[0]) / 1000 / times] * times

    return burst


def of_huey(url: str) -> Callable[[int], list[float]]:
    """Put into RedisHuey, then dequeued and executed as its consumer does."""
    huey = importlib.import_module("huey").RedisHuey("bench", url=url)
    logging.getLogger("huey").setLevel(logging.ERROR)
    task = huey.task()(nothing)

    def burst(times: int) -> list[float]:
        taken = []
        for _ in range(times):
            task()
        for _ in range(times):
            before = time.perf_counter_ns()
            found = huey.dequeue()
            huey.execute(found)
            taken.append((time.perf_counter_ns() - before) / 1000)
        return taken

    return burst


MAKERS = {"rq": of_rq, "celery": of_celery, "huey": of_huey}


def serve(burst: Callable[[int], list[float]], said: Any) -> None:
    """As many as requested, until stdin ends; only the answers may go to stdout."""
    for line in sys.stdin:
        said.write(json.dumps(burst(int(line))) + "\n")
        said.flush()


def main(name: str, url: str) -> None:
    """Serve."""
    sys.modules["redis_queues"] = sys.modules["__main__"]  # under this name RQ looks for the task
    said, sys.stdout = sys.stdout, sys.stderr
    serve(MAKERS[name](url), said)


if __name__ == "__main__":
    main(*sys.argv[1:])
