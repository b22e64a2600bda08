#!/usr/bin/env bash
# Trains, judges, exports and verifies both models. A run that was killed goes on where it was.
#   tools/tiny/train.sh [WORK_FOLDER] [MINUTES] [DRAFT_MINUTES]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:-build/tiny} minutes=${2:-95} draft_minutes=${3:-12}
python=${PYTHON:-python3}
# Waiting threads sleep: spinning ones take the cores from whatever runs beside the training.
export OMP_WAIT_POLICY=PASSIVE TOKENIZERS_PARALLELISM=false

"$python" -m pip install --quiet -r tools/tiny/requirements.txt
for model in tiny draft; do
  if [ "$model" = tiny ]; then time=$minutes; else time=$draft_minutes; fi
  nice -n 5 "$python" -m tools.tiny.train --model "$model" --work "$work" --minutes "$time"
  "$python" -m tools.tiny.export_gguf --model "$model" --work "$work" --out models/tiny
  "$python" -m tools.tiny.export_hf --model "$model" --work "$work" --out "$work/hf-$model"
  "$python" -m tools.tiny.verify --model "$model" --work "$work" --gguf models/tiny --hf "$work/hf-$model"
done
"$python" -m tools.tiny.evaluate --work "$work"
"$python" -m tools.tiny.agreement --model "$work/tiny.pt" --draft "$work/draft.pt"
"$python" -m tools.tiny.sums --work "$work"
"$python" -m tools.tiny.card --work "$work" --out models/tiny
