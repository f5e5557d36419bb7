"""Keep or drop."""

import numpy as np

from anabranch.model import Mesh, Operator, Query
from anabranch.policies.keep_or_drop import AUDIT_ROWS, SOON_ROWS, KeepOrDrop
from anabranch.policies.trial import MOST_ROWS, Trial

one = np.ones(1)


def test_a_clear_gain_is_kept_soon():
    trial = Trial()
    while trial.kept is None:
        trial.update(trial.slice_rows, one if trial.turn == "with" else 4 * one, one)
    assert trial.kept
    assert trial.without.total <= 200


def test_no_gain_is_dropped():
    trial = Trial()
    while trial.kept is None:
        trial.update(trial.slice_rows, one, one)
    assert not trial.kept
    assert trial.without.total >= MOST_ROWS


def test_what_classifying_costs_is_charged():
    trial = Trial()
    while trial.kept is None:
        work = one if trial.turn == "with" else 4 * one
        trial.update(trial.slice_rows, work, one, charge=3.5)
    assert not trial.kept


def test_costs_that_fall_meanwhile_do_not_favour_the_second():
    trial, cost = Trial(), one
    while trial.kept is None:
        trial.update(trial.slice_rows, one if trial.turn == "with" else 2 * one, cost)
        cost = cost / 4
    assert trial.kept


def test_what_was_not_clear_is_tried_again_soon():
    query = Query((Operator("a"), Operator("b")))
    meshes = [Mesh.single(query, order) for order in (("a", "b"), ("b", "a"))]
    for saved, wait in ((4.0, AUDIT_ROWS), (1.03, SOON_ROWS)):
        test = KeepOrDrop()
        assert test.begin(*meshes) == meshes[0]
        trial = test.trial
        while trial.kept is None:
            assert test.next_mesh(trial) == meshes[trial.turn == "without"]
            trial.update(trial.slice_rows, one if trial.turn == "with" else saved * one, one)
        assert trial.kept
        test.close(trial, row=1_000)
        assert (test.trial, test.audit_at) == (None, 1_000 + wait)
