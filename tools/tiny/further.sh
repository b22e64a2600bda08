#!/usr/bin/env bash
# Trains the shipped models further, and judges, exports and verifies them. A run that was killed goes on where it was.
#   tools/tiny/further.sh [WORK_FOLDER] [MINUTES] [DRAFT_MINUTES]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:-build/tiny-further} minutes=${2:-65} draft_minutes=${3:-6}
python=${PYTHON:-python3}
export OMP_WAIT_POLICY=PASSIVE TOKENIZERS_PARALLELISM=false

"$python" -m pip install --quiet -r tools/tiny/requirements.txt
mkdir -p "$work"
for file in inferflux-tiny.gguf inferflux-tiny-draft.gguf; do
  # The weights to start from are kept: the export takes their place.
  [ -f "$work/from-$file" ] || cp "models/tiny/$file" "$work/from-$file"
done
for model in tiny draft; do
  if [ "$model" = tiny ]; then file=inferflux-tiny.gguf time=$minutes; else file=inferflux-tiny-draft.gguf time=$draft_minutes; fi
  nice -n 5 "$python" -m tools.tiny.train --model "$model" --from "$work/from-$file" --work "$work" --minutes "$time" --seed 2 --rate 0.5 --decay 0.5
  "$python" -m tools.tiny.export_gguf --model "$model" --work "$work" --out models/tiny
  "$python" -m tools.tiny.export_hf --model "$model" --work "$work" --out "$work/hf-$model"
  "$python" -m tools.tiny.verify --model "$model" --work "$work" --gguf models/tiny --hf "$work/hf-$model"
done
"$python" -m tools.tiny.evaluate --work "$work"
"$python" -m tools.tiny.agreement --model "$work/tiny.pt" --draft "$work/draft.pt"
"$python" -m tools.tiny.sums --work "$work"
"$python" -m tools.tiny.card --work "$work" --out models/tiny
