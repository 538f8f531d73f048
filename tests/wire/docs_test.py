"""What the documentation says about the server, held against a real one:

  - the table of settings in docs/server.md, against `lapse serve --help`
  - the lists of commands there, against COMMAND DOCS
  - every ```console block there and in README.md, against what redis-cli prints

    docs_test.py LAPSE ROOT [--write]      --write brings the table and the lists up to date instead
"""

import collections
import difflib
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import live_server  # noqa: E402

PROMPT = "127.0.0.1:6379> "


def settings_table(binary):
    help_text = subprocess.run([binary, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^  --(\S+)( \*)? +(.*?)(?: \[(.*)\])?$", help_text, re.MULTILINE)
    lines = ["| setting | default | live | |", "|---|---|---|---|"]
    for name, live, summary, default in rows:
        lines.append(f"| `{name}` | {f'`{default}`' if default else ''} | {'yes' if live else ''} | {summary} |")
    return lines


def command_lists(port):
    """A line for each group, Lapse's own last."""
    answer = subprocess.run(
        ["redis-cli", "-3", "--json", "-p", str(port), "COMMAND", "DOCS"], capture_output=True, text=True, check=True
    ).stdout
    groups = collections.defaultdict(list)
    for name, docs in json.loads(answer).items():
        children = sorted(child.split("|")[1].upper() for child in docs.get("subcommands", {}))
        groups[docs["group"]].append(name.upper() + (f" ({', '.join(children)})" if children else ""))
    ordered = sorted(groups, key=lambda group: (group == "lapse", group))
    return [f"- **{group}**: {', '.join(sorted(groups[group]))}" for group in ordered]


def section(text, marker):
    """Where the lines after a marker begin and end: up to the first empty line behind them."""
    begin = text.index("\n", text.index(f"<!-- {marker}:")) + 2
    end = text.find("\n\n", begin)
    return begin, end if end >= 0 else len(text)


def without_moments(text):
    """Times and revisions differ from run to run."""
    text = re.sub(r"\b1[6-9]\d{11}\b", "MOMENT", text)
    return re.sub(r'("revision"\n *\d+\)) \(integer\) \d+', r"\1 (integer) N", text)


def transcripts(path):
    return re.findall(r"^```console\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def replay(port, transcript):
    """The difference between a transcript and what redis-cli says now."""
    lines = transcript.splitlines()
    commands = [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]
    expected = "\n".join(line for line in lines if not line.startswith(PROMPT))
    done = subprocess.run(
        ["redis-cli", "--no-raw", "-p", str(port)], input="\n".join(commands) + "\n", capture_output=True, text=True
    )
    shown = "\n".join(line for line in done.stdout.splitlines() if line)
    return list(
        difflib.unified_diff(
            without_moments(expected).splitlines(), without_moments(shown).splitlines(), "documented", "shown"
        )
    )


def main(binary, root, *options):
    root = pathlib.Path(root)
    manual = root / "docs" / "server.md"
    failures = []
    with live_server.lapse(binary) as port:
        for marker, lines in (("settings", settings_table(binary)), ("commands", command_lists(port))):
            text = manual.read_text()
            begin, end = section(text, marker)
            if "--write" in options:
                manual.write_text(text[:begin] + "\n".join(lines) + text[end:])
            elif text[begin:end] != "\n".join(lines):
                failures += difflib.unified_diff(text[begin:end].splitlines(), lines, f"{marker} in docs/server.md", "server")
    for path in (root / "README.md", manual):
        for transcript in transcripts(path):
            with live_server.lapse(binary) as port:
                failures += replay(port, transcript)
    print("\n".join(failures) or "The documentation shows what the server does.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
