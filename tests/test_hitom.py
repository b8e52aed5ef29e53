"""Hi-ToM: its sentences become events, its questions are answered, its data is fetched verified."""

import contextlib
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eval import hitom, stories
from eval.__main__ import main
from so_mcp import Memory

ROOT = Path(__file__).resolve().parent.parent
KITCHEN = {"kind": "enter", "agents": ["Ann", "Bob", "Cy"], "room": "kitchen"}


def story(*sentences: str) -> list[stories.Event]:
    """The events of numbered sentences, after three agents entered the kitchen."""
    told = ("Ann, Bob and Cy entered the kitchen.", *sentences)
    first, *rest = stories.events("\n".join(f"{n} {s}" for n, s in enumerate(told, 1)))
    assert first == KITCHEN
    return rest


# A story's sentences


@pytest.mark.parametrize(
    ("sentence", "event"),
    [
        (
            "Dee and Ann entered the TV_room.",
            {"kind": "enter", "agents": ["Dee", "Ann"], "room": "TV_room"},
        ),
        ("Dee entered the attic.", {"kind": "enter", "agents": ["Dee"], "room": "attic"}),
        ("Ann exited the kitchen.", {"kind": "exit", "agents": ["Ann"], "room": "kitchen"}),
        (
            "The sweet_potato is in the green_box.",
            {"kind": "state", "entity": "sweet_potato", "value": "green_box",
             "room": "kitchen", "located_in": "kitchen"},
        ),
        (
            "Bob moved the lime to the red_treasure_chest.",
            {"kind": "state", "by": "Bob", "entity": "lime", "value": "red_treasure_chest",
             "room": "kitchen", "located_in": "kitchen"},
        ),
    ],
)
def test_a_sentence_of_what_happens_becomes_one_event(
    sentence: str, event: stories.Event
) -> None:
    assert story(sentence) == [event]


@pytest.mark.parametrize("the", ["", "the "])
@pytest.mark.parametrize("now", ["", "now "])
def test_a_claim_is_told_to_everyone_with_or_without_the_and_now(the: str, now: str) -> None:
    assert story(f"Ann publicly claimed that {the}lime is {now}in the box.") == [
        {"kind": "tell", "speaker": "Ann", "everyone": True, "entity": "lime", "value": "box"}
    ]


@pytest.mark.parametrize("the", ["", "the "])
@pytest.mark.parametrize("now", ["", "now "])
def test_a_private_word_is_told_to_one_with_or_without_the_and_now(the: str, now: str) -> None:
    assert story(f"Ann privately told Bob that {the}lime is {now}in the box.") == [
        {"kind": "tell", "speaker": "Ann", "listeners": ["Bob"], "entity": "lime", "value": "box"}
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Ann made no movements and stayed in the kitchen for 1 minute.",
        "Ann likes the green_pepper.",
        "Ann dislikes the lime.",
        "Ann saw a dog.",
        "Ann lost his watch.",
        "Ann, Bob and Cy entered the waiting_room.",
    ],
)
def test_noise_and_the_waiting_room_are_no_events(sentence: str) -> None:
    assert story(sentence) == []


def test_a_prompt_before_line_1_and_empty_lines_are_no_part_of_the_story() -> None:
    plain = "1 Ann and Bob entered the attic.\n2 The lime is in the box.\n\n"
    assert stories.events(f"Read the following story.\n{plain}") == stories.events(plain)
    assert len(stories.events(plain)) == 2


def test_what_is_in_a_container_is_seen_in_the_room_of_the_newest_chapter() -> None:
    rooms = [
        event["room"]
        for event in story(
            "The lime is in the box.",
            "Ann, Bob and Cy entered the waiting_room.",
            "Ann and Bob entered the attic.",
            "The plum is in the crate.",
        )
    ]
    assert rooms == ["kitchen", "attic", "attic"]


@pytest.mark.parametrize("sentence", ["Ann ate the lime.", "Ann exited the kitchen", "ann?"])
def test_a_sentence_of_another_form_is_refused_and_its_line_named(sentence: str) -> None:
    with pytest.raises(stories.StoryError, match="line 2: expected one of Hi-ToM's forms"):
        story(sentence)


def test_an_object_before_anyone_entered_a_room_is_refused() -> None:
    with pytest.raises(stories.StoryError, match="line 1: expected someone to enter a room"):
        stories.events("1 The lime is in the box.")


# Its questions


@pytest.mark.parametrize(
    ("text", "chain"),
    [
        ("Where is the lime really?", ()),
        ("Where does Ann really think the lime is?", ("Ann",)),
        ("Where does Ann think Bob thinks the lime is?", ("Ann", "Bob")),
        ("Where does Ann think Bob thinks Cy thinks the lime is?", ("Ann", "Bob", "Cy")),
        (
            "Where does Ann think Bob thinks Cy thinks Dee thinks the lime is?",
            ("Ann", "Bob", "Cy", "Dee"),
        ),
    ],
)
def test_a_question_names_a_chain_outermost_first_and_an_object(
    text: str, chain: tuple[str, ...]
) -> None:
    assert stories.question(text) == (chain, "lime")


def test_a_question_of_another_form_is_refused() -> None:
    with pytest.raises(stories.StoryError, match="question: expected one of Hi-ToM's forms"):
        stories.question("Where was the lime at the beginning?")


def test_a_lie_is_believed_by_who_left_before_the_liar_and_each_reader_answers_its_own(
    new_memory: Callable[..., Memory],
) -> None:
    memory = new_memory(policy="exit-order", rooms="place")
    memory.record([KITCHEN, *story(
        "The lime is in the box.",
        "Ann exited the kitchen.",
        "Bob moved the lime to the crate.",
        "Bob exited the kitchen.",
        "Cy exited the kitchen.",
        "Bob publicly claimed that lime is in the jar.",
    )])
    asked = {
        "Where is the lime really?": ("crate", "crate", "crate"),
        "Where does Ann really think the lime is?": ("jar", "crate", "jar"),
        "Where does Cy really think the lime is?": ("crate", "crate", "crate"),
        "Where does Bob think Cy thinks the lime is?": ("jar", "crate", "crate"),
        "Where does Cy think Ann thinks the lime is?": ("box", "crate", "crate"),
    }
    for text, answers in asked.items():
        readers = (hitom.full, hitom.flat, hitom.no_nesting)
        assert tuple(read(memory, stories.question(text)) for read in readers) == answers, text


# All of it


@pytest.fixture(scope="session")
def items() -> list[hitom.Item]:
    """The data set; the tests that need it are skipped where nobody has fetched it."""
    try:
        return hitom.load(hitom.data_file())
    except hitom.MissingDataError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def found(items: list[hitom.Item]) -> dict[str, Any]:
    """What `python -m eval hitom --json` prints; run once."""
    assert len(items) == 1200
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["hitom", "--json"]) == 0
    result: dict[str, Any] = json.loads(printed.getvalue())
    return result


def correct(score: hitom.Score) -> list[int]:
    """How many of each order's 240 (or 120) are correct."""
    return [score[str(order)][0] for order in hitom.ORDERS]


def test_every_question_is_answered_as_by_the_authors_code(found: dict[str, Any]) -> None:
    assert found["reference"] == {
        "all": [1200, 1200], **{str(order): [240, 240] for order in hitom.ORDERS}
    }


def test_the_released_labels_that_contradict_the_authors_code_are_not_fitted(
    found: dict[str, Any],
) -> None:
    assert found["released"]["all"] == [1053, 1200]
    assert correct(found["released"]) == [240, 240, 205, 190, 178]


def test_a_memory_that_knows_less_answers_less(found: dict[str, Any]) -> None:
    flat, no_nesting = found["ablations"]["flat"], found["ablations"]["no_nesting"]
    assert flat["reference"]["all"] == [600, 1200]
    assert flat["released"]["all"] == [637, 1200]
    assert correct(no_nesting["reference"]) == [240, 240, 140, 116, 84]
    assert correct(no_nesting["released"]) == [240, 240, 119, 105, 81]


def test_the_json_holds_every_score_by_order_and_nothing_else(found: dict[str, Any]) -> None:
    assert list(found) == ["reference", "released", "ablations", "by_prompting_type"]
    assert set(found["ablations"]) == {"flat", "no_nesting"}
    assert set(found["by_prompting_type"]) == {"CoTP", "VP"}
    halves = found["by_prompting_type"].values()
    groups = [{key: found[key] for key in hitom.KEYS}, *found["ablations"].values(), *halves]
    for group in groups:
        assert list(group) == ["reference", "released"]
        for score in group.values():
            assert list(score) == ["all", "0", "1", "2", "3", "4"]
            by_order = [score[str(order)] for order in hitom.ORDERS]
            assert score["all"] == [sum(column) for column in zip(*by_order, strict=True)]
    for key in hitom.KEYS:
        assert correct(found[key]) == [
            sum(pair) for pair in zip(*(correct(half[key]) for half in halves), strict=True)
        ]


def test_the_table_says_how_many_labels_contradict_the_authors_code(
    items: list[hitom.Item], found: dict[str, Any]
) -> None:
    table = hitom.text(items, found)
    assert "1200/1200" in table
    assert "1053/1200" in table
    assert "The 147 released labels that contradict the authors' code are reported" in table


@pytest.mark.parametrize("kind", ["server", "cluster"])
def test_a_server_and_a_cluster_answer_as_the_embedded_database(
    items: list[hitom.Item], kind: str
) -> None:
    """A question in sixty; `python -m eval hosts --only hi-tom` asks them all."""
    some = items[::60]
    assert hitom.answer(some, on=kind) == hitom.answer(some)


# Where the data is


def test_a_missing_data_set_is_an_error_that_names_the_fetch_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SO_HITOM_PATH", str(tmp_path / "none.json"))
    assert main(["hitom"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "python third_party/fetch.py hitom" in printed.err

    monkeypatch.delenv("SO_HITOM_PATH")
    monkeypatch.setattr(hitom, "ROOT", checkout(tmp_path, b""))
    with pytest.raises(hitom.MissingDataError, match=r"python third_party/fetch\.py hitom"):
        hitom.data_file()


def test_the_fetched_file_comes_before_the_shared_one_and_a_file_of_ones_own_before_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SO_HITOM_PATH", raising=False)
    root = checkout(tmp_path, b"right")
    monkeypatch.setattr(hitom, "ROOT", root)
    shared = root.parent / "shared/hitom/Hi-ToM_data.json"
    shared.parent.mkdir(parents=True)
    shared.write_bytes(b"right")
    assert hitom.data_file() == shared
    fetched = root / "third_party/hitom/Hi-ToM_data.json"
    fetched.write_bytes(b"right")
    assert hitom.data_file() == fetched
    own = tmp_path / "own.json"
    own.write_bytes(b"other")
    monkeypatch.setenv("SO_HITOM_PATH", str(own))
    assert hitom.data_file() == own


def test_a_data_set_with_another_hash_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SO_HITOM_PATH", raising=False)
    root = checkout(tmp_path, b"right")
    monkeypatch.setattr(hitom, "ROOT", root)
    (root / "third_party/hitom/Hi-ToM_data.json").write_bytes(b"wrong")
    with pytest.raises(hitom.DataError, match=f"expected sha256 {sha256(b'right')}, got "):
        hitom.data_file()


@pytest.mark.parametrize("content", ["", "[]", '{"data": []}', '{"data": [{"story": 1}]}'])
def test_a_file_that_is_not_the_data_set_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "own.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(hitom.DataError, match="expected the 1200 questions of Hi-ToM"):
        hitom.load(path)


# Fetching it


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def checkout(folder: Path, content: bytes, **changes: Any) -> Path:
    """A checkout with the fetch command, whose manifest names a file of this content."""
    root = folder / "checkout"
    (root / "third_party/hitom").mkdir(parents=True)
    shutil.copy(ROOT / "third_party/fetch.py", root / "third_party")
    manifest = json.loads((ROOT / "third_party/manifest.json").read_text("utf-8"))
    manifest["hitom"] |= {"bytes": len(content), "sha256": sha256(content), **changes}
    (root / "third_party/manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return root


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the URL on loopback that serves it."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def fetch(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a checkout, past any proxy."""
    return subprocess.run(
        [sys.executable, "-W", "error", "third_party/fetch.py", *arguments],
        cwd=root, env={**os.environ, "no_proxy": "*"}, capture_output=True, text=True, check=False,
    )


def test_fetching_puts_the_verified_file_in_its_place_and_asks_for_it_once(
    tmp_path: Path, served: tuple[Path, str]
) -> None:
    folder, url = served
    content = b"story " * 50_000
    (folder / "Hi-ToM_data.json").write_bytes(content)
    root = checkout(tmp_path, content)
    done = fetch(root, "hitom", "--base-url", url)
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "hitom: third_party/hitom/Hi-ToM_data.json\n", ""
    )
    [got] = (root / "third_party/hitom").iterdir()
    assert got.read_bytes() == content
    (folder / "Hi-ToM_data.json").unlink()
    assert fetch(root).returncode == 0  # it is there: nobody is asked


@pytest.mark.parametrize(
    ("served_content", "said"),
    [
        (b"tampered", f"expected sha256 {sha256(b'original')}, got {sha256(b'tampered')}"),
        (b"short", f"expected sha256 {sha256(b'original')}, got {sha256(b'short')}"),
        (b"much longer than it should be", "expected 8 bytes, got more"),
        (None, "the server answered 404"),
    ],
)
def test_fetching_another_file_or_none_leaves_nothing_behind_and_says_why(
    tmp_path: Path, served: tuple[Path, str], served_content: bytes | None, said: str
) -> None:
    folder, url = served
    if served_content is not None:
        (folder / "Hi-ToM_data.json").write_bytes(served_content)
    root = checkout(tmp_path, b"original")
    done = fetch(root, "hitom", "--base-url", url)
    assert done.returncode == 1
    assert f"{url}/Hi-ToM_data.json: {said}" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((root / "third_party/hitom").iterdir()) == []


def test_fetching_goes_on_to_the_mirrors_where_the_first_url_fails(
    tmp_path: Path, served: tuple[Path, str]
) -> None:
    folder, url = served
    (folder / "there.json").write_bytes(b"original")
    root = checkout(
        tmp_path, b"original", url=f"{url}/gone.json", mirrors=[f"{url}/there.json"]
    )
    assert fetch(root, "hitom").returncode == 0
    assert (root / "third_party/hitom/Hi-ToM_data.json").read_bytes() == b"original"


def test_fetching_what_the_manifest_does_not_name_is_refused(tmp_path: Path) -> None:
    done = fetch(checkout(tmp_path, b""), "tomi")
    assert done.returncode == 2
    assert "no tomi here; there is hitom" in done.stderr


def test_the_manifest_pins_a_commit_a_hash_and_a_licence() -> None:
    entry = json.loads((ROOT / "third_party/manifest.json").read_text("utf-8"))["hitom"]
    assert f"/{entry['commit']}/" in entry["url"]
    assert len(entry["commit"]) == 40
    assert len(entry["sha256"]) == 64
    assert entry["license"] == "Apache-2.0"
