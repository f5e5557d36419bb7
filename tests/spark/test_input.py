"""Bad input is a clear error before any job starts."""

import pytest
from pyspark.sql import functions as F

import anabranch as ab
from tests.spark.samples import sample


@pytest.fixture(scope="module")
def df(spark):
    return sample(spark, rows=50)


@pytest.fixture(autouse=True)
def no_job(spark):
    """No error of this file may cost a job."""
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    yield
    assert len(tracker.getJobIdsForGroup(None)) == before


def yes(value):
    return value is not None


def test_unknown_column(df):
    with pytest.raises(ab.InputError, match=r'reads the column "nestd.a".*valid: id, i, b'):
        ab.query(df).where(yes, "nestd.a")
    with pytest.raises(ab.InputError, match='did you mean "list"'):
        ab.query(df).where(yes, "lits")
    with pytest.raises(ab.InputError, match="the input has the columns id, i"):
        ab.query(df).where("nothing > 1")
    with pytest.raises(ab.InputError, match="Spark says"):
        ab.query(df).where(F.col("s") + "x")


def test_a_udf_that_does_not_return_boolean(df):
    with pytest.raises(ab.InputError, match=r"returns string; a predicate returns boolean"):
        ab.query(df).where(F.udf(yes), "i")
    with pytest.raises(ab.InputError, match="returns int"):
        ab.query(df).where(F.udf(yes, "int"), "i")


def test_a_udf_that_is_no_scalar_one(df):
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    @pandas_udf("boolean")
    def any_of(values: pd.Series) -> bool:
        return bool(values.any())

    with pytest.raises(ab.InputError, match="not a scalar UDF; valid"):
        ab.query(df).where(any_of, "b")


def test_guards(df):
    query = ab.query(df).where(yes, "i", name="a", after="b").where(yes, "i", name="b", after="a")
    with pytest.raises(ab.InputError, match="cycle"):
        query.run()
    with pytest.raises(ab.InputError, match=r'after "z", which is not an operator.*valid: a'):
        ab.query(df).where(yes, "i", name="a", after="z").run()
    split = (
        ab.query(df)
        .where(yes, "i", name="first")
        .where("i > 1", name="native", after="first")
        .where(yes, "s", name="second", after="native")
    )
    with pytest.raises(ab.InputError, match="only one Python stage"):
        split.run()


def test_names(df):
    query = ab.query(df).where(yes, "i", name="a").where(yes, "s", name="a")
    with pytest.raises(ab.InputError, match="used twice: a"):
        query.run()
    assert "yes(i), yes_2(s)" in ab.query(df).where(yes, "i").where(yes, "s").explain()


def test_policies_and_other_arguments(df):
    query = ab.query(df).where(yes, "i").where(yes, "s", name="s")
    with pytest.raises(ab.InputError, match='did you mean "agreedy"'):
        query.run(policy="agreddy")
    with pytest.raises(ab.InputError, match='policy "rate" is for joins of streams'):
        query.run(policy="rate")
    with pytest.raises(ab.InputError, match="not a valid order"):
        query.run(policy=ab.Fixed(order=["s"]))
    with pytest.raises(ab.InputError, match="budget"):
        query.run(budget=0)
    with pytest.raises(ab.InputError, match="budget is a share"):
        query.run(budget="1%")
    with pytest.raises(ab.InputError, match=r"policy=QueryMesh\(budget=0.2\)"):
        query.run(policy="mesh", budget=0.2)
    with pytest.raises(ab.InputError, match='"agreedy" does not'):
        query.run(policy="agreedy", attributes=["i"])
    with pytest.raises(ab.InputError, match="learn="):
        query.run(learn="never")


def test_what_is_no_dataframe_plan_or_seed(df):
    with pytest.raises(ab.InputError, match="takes a DataFrame, got str"):
        ab.query("packets")
    query = ab.query(df).where(yes, "i")
    with pytest.raises(ab.InputError, match="as from load"):
        query.run(start="plan.json")
    with pytest.raises(ab.InputError, match="seed"):
        query.run(seed=-1)


def test_the_number_of_columns_must_fit_the_function(df):
    with pytest.raises(ab.InputError, match=r'"yes" takes \(value\) and was given 0 columns'):
        ab.query(df).where(yes)
    with pytest.raises(ab.InputError, match="given 2 columns: too many positional arguments"):
        ab.query(df).where(yes, "i", "s")
    ab.query(df).where(lambda *values: len(values) == 2, "i", "s").where(max, "i", "x")


def test_predicates_that_are_none(df):
    with pytest.raises(ab.InputError, match="columns go with a function"):
        ab.query(df).where("i > 1", "i")
    with pytest.raises(ab.InputError, match="got int"):
        ab.query(df).where(7)
    with pytest.raises(ab.InputError, match="seconds per row"):
        ab.query(df).where(yes, "i", cost=-1)


def test_a_plan_of_another_query(df, tmp_path):
    ab.query(df).where(yes, "i", name="a").run().plan().save(tmp_path / "plan.json")
    plan = ab.load(tmp_path / "plan.json")
    with pytest.raises(ab.PlanError, match=r"columns \['i'\] in the plan and \['s'\]"):
        ab.query(df).where(yes, "s", name="a").run(start=plan)
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(ab.PlanError, match="damaged"):
        ab.load(tmp_path / "plan.json")


def test_explain_starts_no_job(df):
    text = (
        ab.query(df)
        .where("i > 1", name="cheap")
        .where(yes, "s", name="slow", after="guard")
        .where(yes, "i", name="guard")
        .explain()
    )
    assert text.splitlines() == [
        "filters first: cheap(i > 1)",
        "fused operator: guard(i), slow(s) after guard",
        "policy: auto, A-Greedy, upgraded to a mesh where that measurably pays",
        "order now:",
        "  1. guard(i)",
        "  2. slow(s) after guard",
    ]
