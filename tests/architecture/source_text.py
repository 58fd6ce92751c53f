"""C++ source with what is no code taken out, so that rules match code only."""

import re

_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<char>(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def _blank(match):
    """Spaces, but the line ends stay: line numbers remain true."""
    return re.sub(r"[^\n]", " ", match.group(0))


def code_only(text):
    """The text with comments, strings and character literals blanked."""
    return _TOKEN.sub(_blank, text)


def includes(text):
    """(line, path, is_quoted) of every include that is not in a comment."""

    def keep_strings(match):
        return _blank(match) if match.group("comment") or match.group("raw") else match.group(0)

    visible = _TOKEN.sub(keep_strings, text)
    found = []
    for match in _INCLUDE.finditer(visible):
        line = visible.count("\n", 0, match.start(1) if match.group(1) else match.start(2)) + 1
        found.append((line, match.group(1) or match.group(2), match.group(1) is not None))
    return found
