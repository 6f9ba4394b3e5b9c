"""The comparison itself: what it must call different, and what makes an expected failure stale."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import suite  # noqa: E402

PASS = ("a", "SUCCESS", "")
FAIL = ("a", "FAILURE", "broken")


@pytest.mark.parametrize("other", [[], [FAIL], [PASS, PASS], [PASS, ("b", "INFO", "")], [("a", "WARNING", "")]])
def test_any_other_set_of_checks_differs(other):
    assert suite.differences([PASS], other)


def test_the_same_checks_in_another_order_do_not_differ():
    assert not suite.differences([PASS, FAIL], [FAIL, PASS])


def test_an_entry_explains_its_own_check_only():
    expected = suite.Expected("server:\n  - s:a  # why\n")
    found = suite.differences([PASS, ("b", "SUCCESS", "")], [FAIL])
    assert list(expected.unexplained("server", "s", found)) == ["b"]
    assert expected.stale() == []
    assert list(expected.unexplained("stdio", "s", found)) == ["a", "b"]


def test_an_entry_that_explains_nothing_is_stale():
    expected = suite.Expected("server:\n  - s:a\n  - other:x\n")
    assert expected.unexplained("server", "s", {}) == {}
    assert expected.stale() == ["server s:a"]  # `other` did not run, so nothing is known of it


def test_an_entry_needed_at_one_revision_is_not_stale():
    expected = suite.Expected("server:\n  - s:a\n")
    expected.unexplained("server", "s", {"a": "differs"})
    expected.unexplained("server", "s", {})
    assert expected.stale() == []


def test_a_slip_of_the_pen_is_found():
    assert suite.Expected("server:\n  - tolls-list:x\n").never_ran("server", {"tools-list"}) == ["tolls-list:x"]
    with pytest.raises(ValueError, match=":2:"):
        suite.Expected("server:\n  tools-list\n")


def test_the_committed_file_is_understood():
    text = (Path(__file__).resolve().parent / "expected-failures.yml").read_text()
    assert set(suite.Expected(text).routes) <= {"server", "stdio", "aggregate", "client-server", "client-aggregate"}
