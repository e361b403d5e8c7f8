"""Four files as strangers bring them, from the upload to the first result, in a browser.

    python benchmarks/strangers.py                 # seconds for each file
    python benchmarks/strangers.py --write FOLDER  # only write the files

The files are made here: job titles with groups (semicolons, a byte-order mark, blanks, repeats);
queries, documents and graded judgments as three files; a workbook of questions with 0/1 labels;
and a zip of 150 pictures with keywords. For each, the app starts on an empty store, and a browser
uploads, presses *Save and continue* and *Train*, and waits; no option is touched. Run it twice:
the first run of a fresh clone compiles.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic"]
JOBS = (
    "software engineer,data scientist,nurse,electrician,chef,teacher,accountant,truck driver,"
    "project manager,graphic designer,civil engineer,receptionist,pharmacist,sales manager,"
    "web developer,carpenter,lawyer,dentist,warehouse worker,marketing specialist,plumber,"
    "human resources manager,security guard,translator,hairdresser,biologist,photographer,"
    "mechanic,social worker,librarian"
).split(",")
SUBJECTS = {
    "bread": "dough yeast flour oven crust knead",
    "bicycle": "chain gear wheel brake saddle spokes",
    "garden": "soil seed compost tomato prune water",
    "tax": "income return deduction form refund deadline",
    "guitar": "string chord fret tune amplifier pick",
    "flight": "airport ticket luggage gate delay seat",
    "coffee": "beans grind espresso milk roast filter",
    "laptop": "battery keyboard screen memory charger disk",
    "chess": "opening pawn queen checkmate castle endgame",
    "camera": "lens shutter aperture tripod flash focus",
    "running": "shoes marathon pace injury stretch interval",
    "wine": "grape cellar vintage cork tannin barrel",
}
COLOURS = {"red": "#c33", "green": "#393", "blue": "#36c", "yellow": "#dc3", "black": "#222"}
SHAPES = ("circle", "square", "triangle", "star", "cross")


def write_files(folder: Path) -> dict[str, list[Path]]:
    """Write the files, and return the paths to hand in by what they are."""
    rng = random.Random(0)
    found = {
        "titles with groups": [("Titles export.csv", _titles(rng))],
        "queries, documents, graded judgments": _judged(rng),
        "workbook of questions, 0/1 labels": [("question pairs.xlsx", _workbook(rng))],
        "zip of 150 pictures with keywords": [("Photos.zip", _pictures(rng))],
    }
    for files in found.values():
        for name, data in files:
            (folder / name).write_bytes(data)
    return {what: [folder / name for name, _ in files] for what, files in found.items()}


def _titles(rng: random.Random) -> bytes:
    """Job titles in thirty groups, with typing errors, blanks and repeats."""
    lines = ["Job title (raw);Taxonomy group;Country;Seen"]
    for job in JOBS:
        for _ in range(16):
            title = rng.choice(["", "senior ", "Junior ", "lead ", "assistant "]) + job
            title += rng.choice(["", "", " (m/f/d)", " - part time", ", Berlin", " II"])
            if rng.random() < 0.4:
                at = rng.randrange(len(title) - 1)
                title = title[:at] + title[at + 1] + title[at] + title[at + 2 :]
            title = rng.choice([str.upper, str.title, str, " {} ".format])(title)
            group = "" if rng.random() < 0.01 else job.title()
            country = rng.choice("DE;FR;UK;".split(";"))
            lines.append(f"{title};{group};{country};{rng.randrange(1, 900)}")
    return ("\ufeff" + "\r\n".join([*lines, ""])).encode()


def _sentence(rng: random.Random, subject: str, n: int) -> str:
    words = [subject, *rng.sample(SUBJECTS[subject].split(), min(n, 6))]
    words += rng.sample("how the best my with for a new when old why without".split(), n // 2)
    rng.shuffle(words)
    return " ".join(words)


def _judged(rng: random.Random) -> list[tuple[str, bytes]]:
    """Queries, documents, and grades from 0 to 3, some of documents that are not there."""
    queries = [(f"Q{i:03}", rng.choice(list(SUBJECTS))) for i in range(120)]
    documents = [(f"DOC-{i}", rng.choice(list(SUBJECTS))) for i in range(400)]
    asked = {number: _sentence(rng, subject, 2) for number, subject in queries}
    rows = ["QueryID,doc_no,Relevance (0-3),assessor"]
    texts = ["doc_no\theadline\tbody\tpublished"]
    for number, subject in documents:
        body = " ".join(_sentence(rng, subject, 6) for _ in range(4))
        year = rng.randrange(2015, 2025)
        texts.append(
            f"{number}\t{_sentence(rng, subject, 1).title()}\t{body.capitalize()}.\t{year}"
        )
    for number, subject in queries:
        for document, of in rng.sample(documents, 25):
            same = len(set(asked[number].split()) & set(SUBJECTS[of].split()))
            grade = min(3, same + (of == subject)) if rng.random() < 0.95 else rng.randrange(4)
            rows.append(f"{number},{document},{grade},{rng.choice('AB')}")
        rows.append(f"{number},DOC-{rng.randrange(900, 950)},1,A")
    lines = ["QueryID,Query text", *(f'{n},"{text}?"' for n, text in asked.items())]
    return [
        ("queries_final.csv", "\n".join(lines).encode()),
        ("documents export.tsv", "\n".join(texts).encode("cp1252")),
        ("graded judgments v2.csv", "\n".join(rows).encode()),
    ]


def _workbook(rng: random.Random) -> bytes:
    """Pairs of questions and whether they ask the same, on the first of two sheets."""
    rows: list[Sequence[object]] = [
        ("No.", "Question 1", "Question 2", "Duplicate?", "Checked by")
    ]
    for number in range(1, 601):
        first = second = rng.choice(list(SUBJECTS))
        same = rng.random() < 0.4
        if not same:
            second = rng.choice([s for s in SUBJECTS if s != first])
        left, right = (f"{_sentence(rng, s, 4).capitalize()}?" for s in (first, second))
        rows.append((number, left, right, int(same), rng.choice(["kim", "", "lee"])))
    book = io.BytesIO()
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    sheets = {"Pairs": rows, "Notes": [("Labelled in spring",), ("1 = same question",)]}
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        types, listed, links = "", "", ""
        for i, (name, content) in enumerate(sheets.items(), 1):
            part = f"worksheets/sheet{i}.xml"
            body = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in content)
            archive.writestr(
                f"xl/{part}",
                f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>',
            )
            types += (
                f'<Override PartName="/xl/{part}" ContentType="application/'
                'vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
            )
            listed += f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>'
            links += f'<Relationship Id="r{i}" Type="{office}/worksheet" Target="{part}"/>'
        archive.writestr(
            "[Content_Types].xml", f'<Types xmlns="{package}/content-types">{types}</Types>'
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
        )
    return book.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def _pictures(rng: random.Random) -> bytes:
    """Drawings of coloured shapes, each with two or three keywords, as a camera names them."""
    import math

    from PIL import Image, ImageDraw

    file = io.BytesIO()
    lines = ["Filename;Keywords;Rating"]
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(1, 151):
            colour, shape = rng.choice(list(COLOURS)), rng.choice(SHAPES)
            is_large = rng.random() < 0.5
            r = rng.uniform(52, 60) if is_large else rng.uniform(22, 30)
            image = Image.new("RGB", (160, 120), "#f4f1ea")
            pen, at = ImageDraw.Draw(image), (rng.uniform(65, 95), rng.uniform(58, 62))
            if shape == "circle":
                pen.ellipse([at[0] - r, at[1] - r, at[0] + r, at[1] + r], COLOURS[colour])
            elif shape == "cross":
                for dx, dy in ((r, r / 4), (r / 4, r)):
                    box = [at[0] - dx, at[1] - dy, at[0] + dx, at[1] + dy]
                    pen.rectangle(box, COLOURS[colour])
            else:
                n, inner = {"square": (4, 0.71), "triangle": (3, 0.5), "star": (5, 0.4)}[shape]
                corners = [
                    (
                        at[0] + r * (inner if i % 2 else 1) * math.sin(math.pi * i / n),
                        at[1] - r * (inner if i % 2 else 1) * math.cos(math.pi * i / n),
                    )
                    for i in range(2 * n)
                ]
                pen.polygon(corners, COLOURS[colour])
            drawn = io.BytesIO()
            image.save(drawn, "JPEG", quality=85)
            name = f"IMG_{number:04}.JPG"
            archive.writestr(f"Photos/{name}", drawn.getvalue())
            words = [colour, shape.title(), *(["large"] if is_large else [])]
            lines.append(f"{name};{', '.join(words)};{rng.choice('345')}")
        archive.writestr("Photos/keywords.csv", "\r\n".join(lines))
        archive.writestr("Photos/Thumbs.db", b"\0")
        archive.writestr("__MACOSX/Photos/._IMG_0001.JPG", b"\0\5\x16\7")
    return file.getvalue()


def measure(browser: Any, files: Sequence[Path], shots: Path | None) -> dict[str, float]:
    """Hand files in on an empty store; return seconds since then until each step."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        server = subprocess.Popen(
            [*command, "--server.headless", "true", "--server.port", str(port)],
            cwd=ROOT,
            env=os.environ | {"SIMVIZ_HOME": home, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return _walk(browser, f"http://127.0.0.1:{port}", files, shots)
        finally:
            server.terminate()
            server.wait(20)


def _walk(browser: Any, url: str, files: Sequence[Path], shots: Path | None) -> dict[str, float]:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2)
            break
        except OSError:
            time.sleep(0.2)
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(f"{url}/data")
    page.locator("input[type=file]").first.wait_for(state="attached", timeout=60_000)
    seconds: dict[str, float] = {}
    began = time.monotonic()

    def mark(step: str) -> None:
        seconds[step] = time.monotonic() - began
        if shots:
            page.wait_for_timeout(1500)
            page.screenshot(path=shots / f"{files[0].stem}-{step}.png", full_page=True)

    page.locator("input[type=file]").first.set_input_files([str(path) for path in files])
    page.get_by_role("button", name="Save and continue").click(timeout=60_000)
    page.locator(".st-key-train-start button:enabled").wait_for(timeout=60_000)
    mark("kept")
    page.locator(".st-key-train-start button").click()
    page.locator(".sv-finding").first.wait_for(timeout=300_000)
    mark("first result")
    page.wait_for_function(
        "!document.querySelector('.st-key-train-jobs [data-testid=stProgress]')", timeout=300_000
    )
    mark("all results")
    page.context.close()
    return seconds


def main() -> None:
    """Write the files, hand each in, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path, help="a folder: write the files there, and stop")
    parser.add_argument("--shots", type=Path, help="a folder for pictures of every step")
    args = parser.parse_args()
    if args.write:
        args.write.mkdir(parents=True, exist_ok=True)
        write_files(args.write)
        return
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        print("| files | saved | first result | all results |\n|---|---:|---:|---:|")
        for what, files in write_files(Path(folder)).items():
            seconds = measure(browser, files, args.shots)
            print(
                f"| {what} |", " | ".join(f"{s:.1f} s" for s in seconds.values()), "|", flush=True
            )


if __name__ == "__main__":
    main()
