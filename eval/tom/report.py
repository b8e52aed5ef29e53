"""The scores as a table for people, and the labels that the memory does not agree with."""

from collections import Counter

from .scores import Found

ORDERS = range(-1, 5)
_NAMED = 4  # ids of a group of failures

LEGEND = """\
Each line: right of asked (false_yes and missed_yes: such answers of the labels "no" and "yes").
Order -1 is "at the beginning", 0 is what is so. answer is what counts; beside it: answer_rule, the
rules that Hi-ToM's prompt prints, at every depth; answer_published, ToMi as released;
answer_with_quirks, ExploreToM with the items that it contradicts itself in, and answer_sim, what
its file gives beside those; routing_answer, what who was present can tell of a call; witnesses, who
perceived a sentence according to people."""


def rows(found: dict[str, Found]) -> list[tuple[str, ...]]:
    """A row a score: file, label, all, and each order."""
    columns = ("all", *map(str, ORDERS))
    return [
        (name, key, *("{} / {}".format(*counts[c]) if c in counts else "" for c in columns))
        for name, one in found.items()
        for key, counts in one.scores.items()
    ]


def text(found: dict[str, Found], *, each: bool = False) -> str:
    """The table and the failures; ``each``: every one of them, else grouped by reason."""
    head = ("", "", "all", *(f"order {order}" for order in ORDERS))
    lines = [f"{row[0]:16} {row[1]:18}" + "".join(f"{cell:>13}" for cell in row[2:])
             for row in (head, *rows(found))]
    lines += ["", LEGEND, "", "Labels that the memory does not agree with:"]
    for name, one in found.items():
        if each:
            lines += [f"{name} {f.id} {f.key}: {f.asked}: {f.label or 'nobody'}, "
                      f"here {f.got or 'nobody'}: {f.why}" for f in one.failures]
            continue
        for (key, why), number in Counter((f.key, f.why) for f in one.failures).items():
            ids = list(dict.fromkeys(f.id for f in one.failures if (f.key, f.why) == (key, why)))
            more = ", …" if len(ids) > _NAMED else ""
            lines.append(f"{name} {key}: {number}: {why} ({', '.join(ids[:_NAMED])}{more})")
    return "\n".join(lines)
