#!/bin/bash
# One UROM service on each node, beside a program that PMIx starts:
#   sbatch -N 2 -n 2 urom.sh PROGRAM ARGUMENTS
set -euo pipefail
file=/tmp/urom-$SLURM_JOB_ID
node=(--overlap -N "$SLURM_JOB_NUM_NODES" -n "$SLURM_JOB_NUM_NODES" --ntasks-per-node=1)

# The services run until the job ends. UROM_KEY_FILE names the key that they share with the hosts.
srun "${node[@]}" bash -c 'exec uromd --listen 0.0.0.0:0 --address-file "$0-$SLURMD_NODENAME"' "$file" &

# Each service writes its file when hosts can connect.
srun "${node[@]}" timeout 30 bash -c 'until [ -s "$0-$SLURMD_NODENAME" ]; do sleep 0.1; done' "$file"

# Without --overlap this step waits for the services' cores, for ever.
srun --overlap --mpi=pmix bash -c 'exec "$@" --service "@$0-$SLURMD_NODENAME"' "$file" "$@"
