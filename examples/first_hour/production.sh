#!/bin/sh
# Running it: train on files, tag raw text and broken columns, look inside. Needs the command `tagline`.
#   sh examples/first_hour/production.sh
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python -c '
from tagline.datasets import make_entities
from tagline.readers import write_columns
write_columns(make_entities(300, language="en"), "train.txt")
write_columns(make_entities(60, seed=1, language="en", split="test"), "dev.txt")'

tagline train train.txt --dev dev.txt -o model.tagline --note corpus=made -q
echo "Anna Smith lives in Oslo." | tagline tag -m model.tagline --as brackets
printf 'Anna\nsings\n\nbroken line of text here, with more columns\n\nOslo\n\n' > bad.txt
tagline tag -m model.tagline --format columns --lenient bad.txt -o tagged.txt
cat tagged.txt
tagline tag -m model.tagline dev.txt | tagline eval -
tagline inspect model.tagline --top 1 | head -n 8
tagline doctor > /dev/null || true
