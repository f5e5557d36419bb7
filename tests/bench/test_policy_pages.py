"""Every policy has a page with its parameters, and a picture."""

import inspect
import re
from pathlib import Path

import pytest

from anabranch.policies import JOIN_POLICIES, POLICIES, ContentKnows

DOCS = Path(__file__).parents[2] / "docs"
KINDS = {kind.name: kind for kind in (*POLICIES, *JOIN_POLICIES, ContentKnows)}


@pytest.mark.parametrize("name", ["auto", *KINDS])
def test_a_page_has_idea_use_parameters_and_picture(name):
    page = (DOCS / "policies" / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# `{name}`: ")
    assert "## When to use it" in page
    assert f"({name}.png)" in page
    assert (DOCS / "policies" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert f"(policies/{name}.md)" in (DOCS / "policies.md").read_text(encoding="utf-8")


def defaults(page):
    """Parameters and defaults as the table of a page has them."""
    found = {}
    for names, values in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]*) \|", page, re.MULTILINE):
        told = [one.strip('`" ') for one in values.split(", ")]
        for place, name in enumerate(re.findall(r"`(\w+)`", names)):
            found[name] = told[min(place, len(told) - 1)]
    return found


@pytest.mark.parametrize("name", KINDS)
def test_parameters_and_defaults_are_those_of_the_class(name):
    told = defaults((DOCS / "policies" / f"{name}.md").read_text(encoding="utf-8"))
    parameters = inspect.signature(KINDS[name]).parameters
    assert set(told) == set(parameters)
    for parameter in parameters.values():
        if isinstance(parameter.default, int | float | str):
            assert told[parameter.name] == str(parameter.default)
