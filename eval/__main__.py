"""`python -m eval COMMAND`: only the module of the command that was named is imported.

Such a module has ``add_arguments(parser)`` and ``run(args) -> int``, the exit code.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "hitom": ("eval.hitom", "score the memory on Hi-ToM: 1,200 questions of order 0 to 4"),
    "speed": ("eval.speed", "measure events and nested reads as ratios to floors"),
    "tools": ("eval.tools", "measure each tool through stdio beside the same call in Python"),
    "wire": ("eval.wire", "measure starts, reads and writes through stdio and HTTP, and 50 writers"),
    "hosts": ("eval.hosts", "try the server in hosts and before checkers, as they really are"),
    "faults": ("eval.faults", "kill every process, feed bad input, attack a login: nothing may give"),
    "tom": ("eval.tom", "score the memory on six more data sets on belief, if they are here"),
    "questions": ("eval.questions", "score the memory on 2,000 questions to depth 6, made here"),
    "docs": ("eval.docs", "write the generated parts of the documentation"),
}


def main(argv: Sequence[str]) -> int:
    """Run one command; `argv` is without the program's name."""
    parser = argparse.ArgumentParser(
        prog="python -m eval", description="Benchmarks, and documents made from the code."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, purpose) in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=f"{name}: {purpose}.")
        if list(argv[:1]) == [name]:
            import_module(module).add_arguments(command)
    args = parser.parse_args(argv)
    code: int = import_module(COMMANDS[args.command][0]).run(args)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
