"""A lost update, and how a version prevents it. Five pieces in stock; the till sells 3, the stocktaker takes 1 away.

Both read "5" at the same moment. Writing what each worked out, 2 and 4, would lose the one or the other. A document of
dibs has a version, which a write has to name: the later of the two is refused, reads again, and the stock is 1.

Run it with `python examples/stock.py`; it makes a workspace in a scratch folder, and exits with 1 if anything was lost.
"""

# ruff: noqa: INP001, T201 - a script, which tells its story to whoever runs it

from __future__ import annotations

import sys
import tempfile
import threading

import dibs

ROUNDS = 20
PATIENCE = 30  # seconds; nobody waits for ever
CHANGES = {"till": -3, "stocktaker": -1}


def main() -> int:
    """Tell the story; 0 if nothing was lost."""
    with tempfile.TemporaryDirectory(prefix="dibs-stock-") as folder:
        dibs.init(folder)
        with dibs.open(folder, "till") as till, dibs.open(folder, "stocktaker") as stocktaker:
            agents = {"till": till, "stocktaker": stocktaker}
            by_hand = read_then_write(till, stocktaker)
            results = [both_at_once(agents, f"stock-{number}") for number in range(ROUNDS)]
    print(f"With `update`, {ROUNDS} times, both reading at the same moment: {sorted(set(results))}.")
    if by_hand != 1 or set(results) != {1}:
        print("Something was lost.")
        return 1
    print("Nothing was lost: 5 - 3 - 1 = 1.")
    return 0


def read_then_write(till: dibs.Workspace, stocktaker: dibs.Workspace) -> int:
    """Both read, then both write what they worked out."""
    till.state_set("stock", 5)
    seen, also_seen = till.state_get("stock"), stocktaker.state_get("stock")
    print(f"Both read {seen['value']} (version {seen['version']}).")
    sold = till.state_set("stock", seen["value"] - 3, version=seen["version"])
    print(f"The till sells 3 and writes {sold['value']}: version {sold['version']}.")
    worked_out = also_seen["value"] - 1
    try:
        stocktaker.state_set("stock", worked_out, version=also_seen["version"])
    except dibs.Conflict as refusal:
        print(f"The stocktaker would write {worked_out}, and the sale would be lost. Refused: {refusal.message}")
        now = stocktaker.state_get("stock")
        answer = stocktaker.state_set("stock", now["value"] - 1, version=now["version"])
        print(f"It reads {now['value']} and writes {answer['value']}: version {answer['version']}.")
    left: int = till.state_get("stock")["value"]
    return left


def both_at_once(agents: dict[str, dibs.Workspace], key: str) -> int:
    """The same with `update`, which reads again by itself; the first reads of both are at the same moment."""
    agents["till"].state_set(key, 5)
    both_have_read = threading.Barrier(2)

    def work(name: str) -> None:
        first = True

        def change(stock: int) -> int:
            nonlocal first
            if first:
                first = False
                both_have_read.wait(PATIENCE)
            return stock + CHANGES[name]

        agents[name].update(key, change)

    threads = [threading.Thread(target=work, args=(name,)) for name in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left: int = agents["till"].state_get(key)["value"]
    return left


if __name__ == "__main__":
    sys.exit(main())
