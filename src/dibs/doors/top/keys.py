"""What a terminal sends, as keys: letters, names for the rest (`up`, `enter`, `ctrl-c`), and pasted text as `paste:…`.

A sequence that is cut in two is kept until the rest comes; an Escape that nothing follows is the key itself.
"""

from __future__ import annotations

import codecs

ESC, PASTE, PASTE_END = "\x1b", "\x1b[200~", "\x1b[201~"
_FINAL = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "back-tab"}
_NUMBERS = {"1": "home", "7": "home", "4": "end", "8": "end", "5": "page-up", "6": "page-down", "3": "delete"}
_CONTROL = {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace"}
MOST_PASTED = 4_000
LONGEST_SEQUENCE = 24  # of any key; what is longer is no key


class Decoder:
    """Bytes in, keys out."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    @property
    def is_pending(self) -> bool:
        """Does it wait for the rest of a sequence?"""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[str]:
        """The keys that are whole."""
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        keys: list[str] = []
        while text:
            if text.startswith(PASTE) or (PASTE.startswith(text) and len(text) > 2):  # noqa: PLR2004 - more than ESC [
                end = text.find(PASTE_END)
                if end < 0:
                    if len(text) > MOST_PASTED + len(PASTE):  # the end of it may never come
                        keys.append(f"paste:{text[len(PASTE) : len(PASTE) + MOST_PASTED]}")
                        return keys
                    self._rest = text
                    return keys
                keys.append(f"paste:{text[len(PASTE) : min(end, len(PASTE) + MOST_PASTED)]}")
                text = text[end + len(PASTE_END) :]
            elif text[0] == ESC:
                size, key = _sequence(text)
                if not size:
                    self._rest = text
                    return keys
                if key:
                    keys.append(key)
                text = text[size:]
            else:
                keys.append(_letter(text[0]))
                text = text[1:]
        return [key for key in keys if key]

    def flush(self) -> list[str]:
        """Nothing followed: an Escape is the key itself."""
        rest, self._rest = self._rest, ""
        return ["escape"] if rest == ESC else []


def _sequence(text: str) -> tuple[int, str]:
    """The length of the sequence that the text begins with (0: not whole), and its key ("": none that we know)."""
    if len(text) == 1:
        return 0, ""
    if text[1] == "O":
        return (3, _FINAL.get(text[2], "")) if len(text) > 2 else (0, "")  # noqa: PLR2004 - ESC O x
    if text[1] != "[":
        return 1, "escape"
    for place, letter in enumerate(text[2:LONGEST_SEQUENCE], 2):
        if "@" <= letter <= "~":
            numbers = text[2:place].split(";")
            return place + 1, _NUMBERS.get(numbers[0], "") if letter == "~" else _FINAL.get(letter, "")
    return (2, "") if len(text) >= LONGEST_SEQUENCE else (0, "")


def _letter(letter: str) -> str:
    if letter in _CONTROL:
        return _CONTROL[letter]
    if "\x01" <= letter <= "\x1a":
        return f"ctrl-{chr(ord(letter) + 96)}"
    return letter if letter.isprintable() else ""


class Input:
    """One line of text that is being typed."""

    def __init__(self, text: str = "", longest: int = 500) -> None:
        self.text, self.place, self.longest = text, len(text), longest

    def take(self, key: str) -> bool:
        """Whether this key was for the text."""
        if key.startswith("paste:"):
            self._insert("".join([letter if letter.isprintable() else " " for letter in key[6:]]))
            return True
        if len(key) == 1 and key.isprintable():
            self._insert(key)
            return True
        if key in {"backspace", "ctrl-h"}:
            self.text = self.text[: max(0, self.place - 1)] + self.text[self.place :]
            self.place = max(0, self.place - 1)
        elif key == "delete":
            self.text = self.text[: self.place] + self.text[self.place + 1 :]
        elif key in {"left", "right"}:
            self.place = max(0, min(len(self.text), self.place + (1 if key == "right" else -1)))
        elif key in {"home", "ctrl-a"}:
            self.place = 0
        elif key in {"end", "ctrl-e"}:
            self.place = len(self.text)
        elif key == "ctrl-u":
            self.text, self.place = self.text[self.place :], 0
        elif key == "ctrl-w":
            kept = self.text[: self.place].rstrip()
            kept = kept[: kept.rfind(" ") + 1]
            self.text, self.place = kept + self.text[self.place :], len(kept)
        else:
            return False
        return True

    def _insert(self, text: str) -> None:
        text = text[: max(0, self.longest - len(self.text))]
        self.text = self.text[: self.place] + text + self.text[self.place :]
        self.place += len(text)
