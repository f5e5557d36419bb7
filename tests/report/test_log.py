from anabranch.kernel.ledger import Ledger, Times
from anabranch.report import WorkerLog


def ledger(rows, order):
    said = Ledger.empty(2)
    said.update(rows, 0, (), [((0, 1), rows)], (), Times())
    said.current = order
    return said.to_dict()


def test_the_order_in_force_is_the_one_most_rows_follow_now():
    log = WorkerLog(2)
    log.update("w1", ledger(100, ("a", "b")))
    log.update("w2", ledger(50, ("b", "a")))
    assert log.order() == ("a", "b")
    log.update("w1", ledger(1, ("b", "a")))
    assert log.order() == ("b", "a")


def test_an_empty_last_ledger_does_not_hide_the_order():
    log = WorkerLog(2)
    log.update("w1", ledger(100, ("b", "a")))
    log.update("w1", Ledger.empty(2).to_dict())
    assert log.order() == ("b", "a")
    assert log.total.rows_in == 100


def test_nothing_said_yet():
    assert WorkerLog(2).order() is None
