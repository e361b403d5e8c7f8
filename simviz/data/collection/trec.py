"""TREC's own formats: topics, documents, judgments and runs."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from simviz.data.wording import shown
from simviz.exceptions import DatasetError

_TAG = re.compile(r"<[^<>]{0,200}>")
_DOC = re.compile(r"(?is)<doc\b[^>]*>(.*?)</doc>")
_DOCNO = re.compile(r"(?is)<docno>(.*?)</docno>")
_TOP = re.compile(r"(?is)<top(?:ic)?\b([^>]*)>(.*?)</top(?:ic)?>")
_NUM = re.compile(r"(?is)<num(?:ber)?>\s*(?:number:?)?\s*([^<\s]+)")
_NUMBER = re.compile(r"""(?i)\bnumber\s*=\s*["']?([^"'\s>]+)""")
_FIELD = re.compile(r"(?is)<(title|query|desc(?:ription)?|narr(?:ative)?)>([^<]*)")
Rows = list[tuple[str, str]]


def looks_like_documents(text: str) -> bool:
    """Whether a text begins with documents as TREC marks them up."""
    return re.match(r"(?is)\s*(<\?xml[^>]*>\s*)?(<\w+>\s*)?<doc\b", text[:2000]) is not None


def looks_like_topics(text: str) -> bool:
    """Whether a text begins with topics as TREC marks them up."""
    return re.match(r"(?is)\s*(<\?xml[^>]*>\s*)?(<topics[^>]*>\s*)?<top", text[:2000]) is not None


def read_documents(name: str, text: str) -> Rows:
    r"""Ids and texts of documents between ``<DOC>`` and ``</DOC>``.

    Parameters
    ----------
    name : str
        File name for messages.
    text : str
        The whole file.

    Returns
    -------
    list of (id, text)
        Text without its marks, title and body together.

    Raises
    ------
    DatasetError
        If a document has no ``<DOCNO>``, or there is none.

    Examples
    --------
    >>> read_documents("d", "<DOC><DOCNO> a1 </DOCNO><TEXT>Red <b>heart</b></TEXT></DOC>")
    [('a1', 'Red heart')]
    """
    rows = []
    for found in _DOC.finditer(text):
        body = found.group(1)
        number = _DOCNO.search(body)
        if number is None:
            line = text.count("\n", 0, found.start()) + 1
            raise DatasetError(f"{name}, line {line}: a document has no <DOCNO>. Give it one.")
        rows.append((number.group(1).strip(), _plain(body.replace(number.group(), " "))))
    if not rows:
        raise DatasetError(f"{name} holds no document between <DOC> and </DOC>.")
    return rows


def read_topics(name: str, text: str) -> Rows:
    r"""Ids and titles of topics, as TREC has written them since 1992.

    Parameters
    ----------
    name : str
        File name for messages.
    text : str
        The whole file.

    Returns
    -------
    list of (id, text)
        The title, else the query, else the description.

    Raises
    ------
    DatasetError
        If a topic has no number or no text, or there is none.

    Examples
    --------
    >>> read_topics("t", "<top><num> Number: 301\n<title> red heart\n<desc> Description:\n</top>")
    [('301', 'red heart')]
    """
    rows = []
    for found in _TOP.finditer(text):
        attributes, body = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        number = _NUM.search(body) or _NUMBER.search(attributes)
        if number is None:
            raise DatasetError(f"{name}, line {line}: a topic has no <num>. Give it a number.")
        fields = {kind.lower()[:4]: _plain(value) for kind, value in _FIELD.findall(body)}
        title = fields.get("titl") or fields.get("quer") or fields.get("desc") or ""
        title = re.sub(r"(?i)^(topic|description):\s*", "", title)
        if not title:
            raise DatasetError(
                f"{name}, line {line}: topic {shown(number.group(1))} has no title, query or "
                "description."
            )
        rows.append((number.group(1), title))
    if not rows:
        raise DatasetError(f"{name} holds no topic between <top> and </top>.")
    return rows


def looks_like_qrels(text: str) -> bool:
    r"""Whether the first line is a judgment: query, iteration, document, grade.

    Examples
    --------
    >>> looks_like_qrels("301 0 FT911-3 1\n"), looks_like_qrels("query\tdocument\tgrade\n")
    (True, False)
    """
    fields = text.lstrip().split("\n", 1)[0].split()
    return len(fields) == 4 and _is_number(fields[3]) and not fields[2].isspace()


def looks_like_run(text: str) -> bool:
    """Whether the first line is an answer: query, Q0, document, rank, score, name."""
    fields = text.lstrip().split("\n", 1)[0].split()
    return len(fields) in (5, 6) and _is_number(fields[3]) and _is_number(fields[4])


def iter_fields(
    name: str, text: str, n: tuple[int, ...], what: str
) -> Iterator[tuple[int, list[str]]]:
    """Lines of words between white space, each with its number.

    Parameters
    ----------
    name : str
        File name for messages.
    text : str
        The whole file.
    n : tuple of int
        How many words a line may have.
    what : str
        What a line is, for messages.

    Yields
    ------
    tuple of int and list of str
        Number of the line, and its words.

    Raises
    ------
    DatasetError
        If a line has another number of words.
    """
    for line, raw in enumerate(text.split("\n"), start=1):
        fields = raw.split()
        if not fields:
            continue
        if len(fields) not in n:
            raise DatasetError(
                f"{name}, line {line} has {len(fields)} words ({shown(raw.strip())}); {what} has "
                f"{' or '.join(map(str, n))}, with white space between them."
            )
        yield line, fields


def _is_number(word: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", word) is not None


def _plain(marked: str) -> str:
    """Text without marks."""
    return " ".join(html.unescape(_TAG.sub(" ", marked)).split())
