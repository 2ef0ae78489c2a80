#!/usr/bin/env bash
# What a machine with a GPU is for: builds with CUDA, holds the backend against its CPU twin, runs
# the reference cases on it, looks with compute-sanitizer, and times inference from memory.
#
# usage: tests/gpu.sh [OUT] [STEP ...]
#
# Steps: build twin order cases bits tiered train choice sanitize profile pinned time gather power
# design ranks parallel disk order_large; default: all but the last seven. disk writes 17 GB under
# DISK (default: here), pinned 1.1 GB, tiered 4.2 GB, order_large 30 GB to /dev/shm, design 5.
# gather takes 8 GiB of pinned memory; power wants PyTorch, and takes minutes. ranks wants two GPUs,
# and 40 GB of /dev/shm (RANKS_SCALE=23); on one GPU it leaves scaling out.
#
# TIERED_TURNS="resident belady lru device" makes tiered the timing of these alone, in this order;
# with DISK=/dev/shm TIERED_IO=map from memory.
#
# OUT (default /tmp/gnnrun-gpu) gets logs and JSON. Reference cases are found as by the other tests.
set -uo pipefail
cd "$(dirname "$0")/.."
out=${1:-/tmp/gnnrun-gpu}
shift || true
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(build twin order cases bits tiered train choice sanitize
	profile pinned time)
build=build-gpu
python=${PYTHON:-python3}
mkdir -p "$out"
failed=0

say() { echo; echo "== $* ($(date +%T))"; }
must() { "$@" || { echo "FAILED: $*"; failed=1; }; }
same() { # file, what it is of: the bits of the first file since the caller emptied `first`
	local sum
	sum=$(sha256sum <"$1")
	[ -n "$first" ] || first=$sum
	[ -n "$sum" ] && [ "$sum" = "$first" ] || { echo "FAILED: other bits: $2"; failed=1; }
}

step_build() {
	cmake -S . -B $build -G Ninja -DGNN_WITH_CUDA=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		>"$out/configure.log" 2>&1 || { tail -20 "$out/configure.log"; exit 1; }
	cmake --build $build --target gnnrun cuda_twin_test cuda_grad_test \
		cuda_sample_test cuda_order_test cuda_link_test order_bench \
		>"$out/build.log" 2>&1 ||
		{ grep -E 'error|undefined' "$out/build.log" | head -20; exit 1; }
}

step_twin() {
	must $build/tests/cuda_twin_test
	must $build/tests/cuda_grad_test
	must $build/tests/cuda_sample_test
	must $build/tests/cuda_order_test
	must $build/tests/cuda_link_test
}

step_order() { # both backends: the same store; and the rate of the iteration beside a copy's
	local dir=/dev/shm/gnnrun-order graph
	mkdir -p $dir
	for graph in "rmat --scale 18 --edge-factor 16" "sbm --vertices 400000 --communities 2000" \
		"rmat --scale 14 --edge-factor 400"; do
		# shellcheck disable=SC2086
		must $build/gnnrun generate ${graph%% *} $dir/g.h5 ${graph#* } --feat-dim 0 \
			--classes 0 >"$out/generate.log"
		for o in "--bootstrap rcm" "--bootstrap original --iterations 8" "--order rcm"; do
			local first=
			for b in cpu cuda "cuda --gpu-memory 72M" "cuda --host-memory 64M"; do
				# shellcheck disable=SC2086
				must $build/gnnrun reorder $dir/g.h5 $dir/o.h5 $o --backend $b \
					--json >"$out/order.json"
				same $dir/o.h5 "$graph, $o, $b"
			done
		done
		echo "$graph: equal stores"
	done
	rm -rf $dir
	for o in "cpu 24 16 $(nproc)" "cuda 24 16" "cuda 26 16" "cuda 24 16 2 1500"; do
		# shellcheck disable=SC2086
		must $build/tests/order_bench $o >"$out/order_bench.log"
		tail -1 "$out/order_bench.log"
	done
}

step_order_large() { # all of a reordering, with the machine's memory as its disk
	must "$python" tests/bench/reorder_scale.py $build/gnnrun --folder /dev/shm \
		--scale "${SCALE:-26}" --memory "${MEMORY:-48G}" --backend cuda
}

step_cases() {
	must "$python" tests/cases_test.py $build/gnnrun -- --backend cuda
	must "$python" tests/star_test.py $build/gnnrun 63 64 1000 16000 1000000 10000000 -- \
		--backend cuda
}

step_bits() {
	local dir=/dev/shm/gnnrun-bits
	mkdir -p $dir
	$build/gnnrun generate rmat $dir/g.h5 --scale 16 --edge-factor 16 --feat-dim 100
	for arch in gcn sage gin gat; do
		$build/gnnrun model --seeded $arch --dims 100,64,40 --out $dir/m.safetensors \
			>"$out/model.log"
		local first=
		for o in "" "--chunk-bytes 1" "--chunk-bytes 64M" "--io map" "--io pread" "" \
			"--queue-depth 2" "--plan partitioned --shards 3" \
			"--plan partitioned --shards 5 --chunk-bytes 1"; do
			# shellcheck disable=SC2086
			must $build/gnnrun infer $dir/g.h5 --model $dir/m.safetensors \
				--out $dir/e.h5 --backend cuda $o >"$out/bits.log" 2>&1
			must $build/gnnrun export $dir/e.h5 $dir/e.npy >"$out/bits.log"
			same $dir/e.npy "$arch $o"
		done
		echo "$arch: equal bits"
	done
	rm -rf $dir
}

step_train() { # whoever samples and gathers: the same model
	local dir=/dev/shm/gnnrun-train
	mkdir -p $dir
	$build/gnnrun generate sbm $dir/g.h5 --vertices 60000 --communities 8 --feat-dim 48 \
		>"$out/generate.log"
	for arch in ${TRAIN_ARCHS:-gcn sage gin gat}; do
		local first=
		for o in step-cpu "step-cpu --pipeline off" step-gpu-sample step-gpu-gather \
			"step-gpu-gather --gather zero-copy" step-gpu \
			"step-gpu --gather zero-copy" "step-gpu --pipeline off" \
			"step-gpu --gather both" "step-gpu-gather --gather both" \
			"step-cpu --cache-ratio .3" "step-gpu-sample --cache-ratio .3" \
			"step-gpu --gather zero-copy --cache-ratio .3" \
			"step-gpu-gather --gather both --cache-ratio .3 --pipeline off" \
			"auto --cache-ratio 1 --cache-policy degree"; do
			rm -rf $dir/m.safetensors*
			# shellcheck disable=SC2086
			must $build/gnnrun train $dir/g.h5 --arch $arch --fanout 5,10 --epochs 2 \
				--out $dir/m.safetensors --backend cuda --orchestration $o \
				--json >"$out/train.json"
			same $dir/m.safetensors "$arch $o"
			"$python" -c "
import json
e = json.load(open('$out/train.json'))['epochs'][-1]
print('$arch $o: epoch %.3f s, sample %.3f, collect %.3f, transfer %.3f, compute %.3f' % tuple(
    e[k] for k in ('wall_s', 'sample_s', 'collect_s', 'transfer_s', 'compute_s')))"
		done
	done
	train_embeddings $dir
	train_hybrid $dir
	rm -rf $dir
}

train_hybrid() { # decisions are those of the clock; replayed, the model is the same
	local dir=$1 first='' how
	for how in on replay "replay --threads 3" "replay --pipeline off"; do
		rm -rf "$dir"/h.safetensors "$dir"/h.safetensors.ckpt
		# shellcheck disable=SC2086
		must $build/gnnrun train "$dir"/g.h5 --fanout 5,10 --epochs 4 --batch-size 256 \
			--out "$dir"/h.safetensors --backend cuda --orchestration layer \
			--reuse embeddings --gather zero-copy --hybrid $how \
			--json >"$out/hybrid.json"
		same "$dir"/h.safetensors "--hybrid $how"
		"$python" -c "
import json
e = json.load(open('$out/hybrid.json'))['epochs'][-1]
print('hybrid $how: epoch %.3f s, idle %.3f, with the CPU %d, cache hits %d' % tuple(
    e[k] for k in ('wall_s', 'gpu_idle_s', 'cpu_hot_vertices', 'cache_hits')))"
	done
}

train_embeddings() { # rows made ahead by the CPU: wherever cold rows are gathered, the same model
	local dir=$1 arch o first
	for arch in ${TRAIN_ARCHS:-gcn sage gin gat}; do
		first=
		for o in "" "--gather staged" "--gather zero-copy" "--pipeline off"; do
			rm -rf "$dir"/m.safetensors*
			# shellcheck disable=SC2086
			must $build/gnnrun train "$dir"/g.h5 --arch $arch --fanout 5,10 \
				--epochs 2 --out "$dir"/m.safetensors --backend cuda \
				--orchestration layer --reuse embeddings $o \
				--json >"$out/train.json"
			same "$dir"/m.safetensors "$arch, embeddings $o"
			"$python" -c "
import json
e = json.load(open('$out/train.json'))['epochs'][-1]
print('$arch embeddings $o: epoch %.3f s, idle %.3f, made %d in %.3f s, used %d, stale %d' % tuple(
    e[k] for k in ('wall_s', 'gpu_idle_s', 'aggregated_vertices', 'cpu_embed_s',
                   'reused_vertices', 'max_staleness')))"
		done
	done
}

sanitize_one() { # name, tool, test program, filter
	timeout 400 compute-sanitizer --tool "$2" --error-exitcode 1 "$build/tests/$3" \
		--gtest_filter="$4" >"$out/$1.log" 2>&1
	echo $? >"$out/$1.rc"
}

step_choice() { # a gather that is slowed down is not chosen
	local dir=/dev/shm/gnnrun-choice
	mkdir -p $dir
	$build/gnnrun generate sbm $dir/g.h5 --vertices 60000 --feat-dim 512 >"$out/generate.log"
	for case in "staged:slow%1 zero-copy" "in-place:slow%1 staged" "none@1 any"; do
		# shellcheck disable=SC2086
		set -- $case
		local faults="--faults $1"
		[ "$2" != any ] || faults=
		rm -rf $dir/m.safetensors*
		# shellcheck disable=SC2086
		must $build/gnnrun train $dir/g.h5 --fanout 5,10 --epochs 1 --backend cuda \
			--out $dir/m.safetensors --cache-ratio .01 $faults --json \
			>"$out/choice.json" 2>"$out/choice.log"
		grep -o 'rows of features.*' "$out/choice.log"
		"$python" -c "
import json
got = json.load(open('$out/choice.json'))['gather']
assert '$2' in ('any', got), ('$2', got)" || { echo "FAILED: $1"; failed=1; }
	done
	rm -rf $dir
}

step_gather() { # each gather at each length of rows; a step beside a kernel that gathers
	must $build/gnnrun bench gather --backend cuda --bytes 8G --json >"$out/gather.json"
	"$python" -c "
import json
r = json.load(open('$out/gather.json'))
rate = {(x['row_bytes'], x['method']): x for x in r['rows']}
methods = [m for m in dict.fromkeys(x['method'] for x in r['rows']) if m != 'copy']
print('GB/s; copy %.1f' % (r['rows'][0]['bytes_s'] / 1e9))
print('%6s' % 'row', *('%20s' % m for m in methods), 'share', 'CPU s/GB staged, in place')
for n in sorted({x['row_bytes'] for x in r['rows'][1:]}):
    print('%6d' % n, *('%20.2f' % (rate[n, m]['bytes_s'] / 1e9) for m in methods),
          '%.2f' % rate[n, 'both']['share'], '%.3f %.4f' % (
              rate[n, 'staged']['cpu_s_byte'] * 1e9, rate[n, 'zero-copy']['cpu_s_byte'] * 1e9))
for x in r['beside']:
    print('%4d blocks: %.1f GB/s, a step takes %.3f of its time alone' % (
        x['blocks'], x['bytes_s'] / 1e9, x['step_s'] / x['step_alone_s']))"
}

step_power() { # epochs of a large graph by each gather, beside PyTorch
	must "$python" tests/bench/train_power.py $build/gnnrun --json "$out/power.json" \
		${POWER:-}
}

step_sanitize() { # all at once: each is bound by one core
	local tool name without
	for tool in memcheck initcheck racecheck; do
		# racecheck is slow, and aggregation has no shared memory to race in.
		without='*Past2To31*'
		[ $tool != racecheck ] || without='*Past2To31*:*EveryCombination*'
		sanitize_one $tool $tool cuda_twin_test "-$without" &
		sanitize_one $tool-grad $tool cuda_grad_test '*' &
		sanitize_one $tool-sample $tool cuda_sample_test '*BlocksAre*' &
	done
	wait
	for name in {memcheck,initcheck,racecheck}{,-grad,-sample}; do
		echo "$name: $(grep -E 'SUMMARY' "$out/$name.log" | tail -1)"
		must [ "$(cat "$out/$name.rc")" = 0 ]
	done
}

time_one() { # name, generator options, model dims, repeats
	local dir=/dev/shm/gnnrun-time name=$1 generate=$2 dims=$3 repeats=$4
	mkdir -p $dir
	# shellcheck disable=SC2086
	must $build/gnnrun generate rmat $dir/g.h5 $generate >"$out/generate.log"
	must $build/gnnrun model --seeded gcn --dims "$dims" --out $dir/m.safetensors \
		>"$out/model.log"
	for i in $(seq "$repeats"); do
		must $build/gnnrun infer $dir/g.h5 --model $dir/m.safetensors --out $dir/e.h5 \
			--backend cuda --io map --chunk-bytes "${CHUNK:-64M}" --json \
			--trace "$out/$name.trace.json" >"$out/$name.$i.json"
		"$python" -c "
import json, sys
r = json.load(open('$out/$name.$i.json'))
g = r['feature_bytes'] / 1e9
print(f'$name: {g:.1f} GB, feature phase {r[\"feature_s\"]:.3f} s = '
      f'{g / r[\"feature_s\"]:.1f} GB/s, '
      f'start-up {r[\"startup_s\"]:.2f} s, stream {r[\"stream_s\"]:.2f} s, '
      f'device {r[\"peak_device_bytes\"] / 1e9:.1f} GB')"
	done
	"$python" tests/bench/trace_table.py "$out/$name.trace.json" # of the last repeat
	rm -rf $dir
}

step_profile() { # how long each kernel takes, one after another
	local dir=/dev/shm/gnnrun-profile
	mkdir -p $dir
	$build/gnnrun generate rmat $dir/g.h5 --scale 20 --edge-factor 15 --feat-dim 128
	$build/gnnrun model --seeded gcn --dims 128,64 --out $dir/m.safetensors >"$out/model.log"
	ncu --clock-control none --metrics gpu__time_duration.sum \
		--print-summary per-kernel \
		$build/gnnrun infer $dir/g.h5 --model $dir/m.safetensors --out $dir/e.h5 \
		--backend cuda --io map --chunk-bytes 64M >"$out/profile.log" 2>&1
	grep -E '^  [a-zA-Z_].*\(|time_duration' "$out/profile.log" | head -60
	rm -rf $dir
}

step_pinned() { # read buffers pinned for copies to the device, against not: interleaved, equal bits
	local dir="${DISK:-.}/gnnrun-pinned" first=
	mkdir -p "$dir"
	must $build/gnnrun generate rmat "$dir/g.h5" --scale 18 --edge-factor 16 --feat-dim 1024 \
		>"$out/generate.log"
	must $build/gnnrun model --seeded gcn --dims 1024,128 --out "$dir/m.safetensors" \
		>"$out/model.log"
	for i in 1 2 3; do
		for o in "pin:fail%1" "pin:fail@1000000000"; do
			must $build/gnnrun infer "$dir/g.h5" --model "$dir/m.safetensors" \
				--out "$dir/e.h5" --backend cuda --io uring --faults "$o" \
				--json >"$out/pinned.json"
			must $build/gnnrun export "$dir/e.h5" "$dir/e.npy" >"$out/pinned.log"
			same "$dir/e.npy" "$o"
			"$python" -c "
import json
r = json.load(open('$out/pinned.json'))
print('not pinned:' if '$o' == 'pin:fail%1' else 'pinned:',
      f'start-up {r[\"startup_s\"]:.2f} s, feature phase {r[\"feature_s\"]:.3f} s, '
      f'stream {r[\"stream_s\"]:.3f} s')"
		done
	done
	rm -rf "$dir"
}

ranks_run() { # ranks, then words of infer: into e.h5 of $dir
	local ranks=$1
	shift
	timeout 120 "${launch[@]}" -np "$ranks" $build/gnnrun infer $dir/g.h5 \
		--model $dir/m.safetensors --out $dir/e.h5 --backend cuda "$@" \
		>"$out/ranks.log" 2>&1 || { echo "FAILED: $ranks ranks $*"; failed=1
		grep -vE '^ |^$|^-' "$out/ranks.log" | tail -8; }
	$build/gnnrun export $dir/e.h5 "$dir/e$ranks.npy" >>"$out/ranks.log" 2>&1
}

ranks_bits() { # the same bits over chunks, plans and ways; near those of one rank
	local arch dims=100,64,40 first
	$build/gnnrun generate rmat $dir/g.h5 --scale 17 --edge-factor 16 --feat-dim 100 \
		>"$out/generate.log"
	for arch in gcn gat sage gin; do
		$build/gnnrun model --seeded $arch --dims $dims --out $dir/m.safetensors \
			>"$out/model.log"
		# shellcheck disable=SC2086
		for f in "" "--fanout 5"; do
			ranks_run 1 $f
			first=
			for o in "" "--chunk-bytes 1" "--io map" "--plan partitioned --shards 3" \
				"--plan tiered" "--plan tiered --gpu-store 4M --hot-store 2M"; do
				[ -z "$f" ] || [ "$o" != "--io map" ] || continue
				ranks_run 2 "${over[@]}" $f $o
				same $dir/e2.npy "$arch $f $o"
			done
			"$python" -c "
import numpy, sys
a, b = numpy.load('$dir/e1.npy'), numpy.load('$dir/e2.npy')
far = float(numpy.abs(a - b).max() / numpy.abs(a).max())
print('$arch $f: two ranks are', far, 'from one')
sys.exit(far > 2e-5)" || { echo "FAILED: $arch $f"; failed=1; }
			[ $arch = gcn ] || [ $arch = gat ] || break
		done
	done
}

ranks_time() { # stream phase of one and of two GPUs, from memory, interleaved
	local i n
	must $build/gnnrun generate rmat $dir/g.h5 --scale "${RANKS_SCALE:-23}" --edge-factor 8 \
		--feat-dim 1024 >"$out/generate.log"
	$build/gnnrun model --seeded gcn --dims "${RANKS_DIMS:-1024,64}" \
		--out $dir/m.safetensors >"$out/model.log"
	for i in 1 2 3; do
		for n in 1 2; do
			"${launch[@]}" -np $n $build/gnnrun infer $dir/g.h5 \
				--model $dir/m.safetensors --out $dir/e.h5 --backend cuda \
				--io map --chunk-bytes "${CHUNK:-128M}" --json \
				--trace "$out/ranks$n.trace.json" \
				>"$out/ranks$n.$i.json" 2>"$out/ranks$n.log" ||
				{ tail -5 "$out/ranks$n.log"; failed=1; }
		done
	done
	"$python" -c "
import json, statistics
rows = {n: [json.load(open(f'$out/ranks{n}.{i}.json')) for i in (1, 2, 3)] for n in (1, 2)}
mid = {n: {k: statistics.median(r[k] for r in rows[n]) for k in
           ('startup_s', 'feature_s', 'stream_s')} for n in rows}
g = rows[1][0]['feature_bytes'] / 1e9
for n in mid:
    print(n, 'GPU', ', '.join(f'{k} {v:.3f}' for k, v in mid[n].items()),
          f'features {g / mid[n][\"feature_s\"]:.1f} GB/s',
          'all streams', [round(r['stream_s'], 3) for r in rows[n]])
print(f'{g:.1f} GB: stream phase', round(mid[1]['stream_s'] / mid[2]['stream_s'], 2),
      'times, features', round(mid[1]['feature_s'] / mid[2]['feature_s'], 2), 'times one GPU')"
}

parallel_run() { # ranks, arch, then words of train: a model in $dir, a report
	local ranks=$1 arch=$2
	shift 2
	rm -rf $dir/m.safetensors*
	timeout 120 "${launch[@]}" -np "$ranks" $build/gnnrun train $dir/g.h5 --arch $arch \
		--out $dir/m.safetensors --backend auto --json --log warn "$@" \
		>"$out/parallel$ranks.json" 2>"$out/parallel.log" ||
		{ echo "FAILED: $ranks ranks, $arch $*"; failed=1
		grep -m 3 -E '^gnnrun|==' "$out/parallel.log"; }
}
parallel_time() { # one GPU and two, the batch of each the same, features in host memory
	local i
	must $build/gnnrun generate rmat $dir/big.h5 --scale 21 --edge-factor 16 --feat-dim 256 \
		--classes 32 >"$out/generate.log"
	mv $dir/big.h5 $dir/g.h5
	for i in 1 2 3; do
		parallel_run 1 sage --fanout 10,10 --epochs 3 --eval-every 100 --batch-size 4096 \
			--gather zero-copy --orchestration step-gpu
		parallel_run 2 sage --fanout 10,10 --epochs 3 --eval-every 100 --batch-size 8192 \
			--gather zero-copy --orchestration step-gpu
		"$python" -c "
import json
e = [json.load(open(f'$out/parallel{n}.json'))['epochs'][1] for n in (1, 2)]
print('epoch: one GPU %.3f s, two %.3f: %.2f times' % (
    e[0]['wall_s'], e[1]['wall_s'], e[0]['wall_s'] / e[1]['wall_s']),
    [{k: round(x[k], 3) for k in ('sample_s', 'transfer_s', 'compute_s')} for x in e])"
	done
}
step_parallel() { # training of two ranks: the same bits whoever samples, near one rank's losses
	local dir=/dev/shm/gnnrun-parallel gpus arch o first
	local launch=(mpirun --allow-run-as-root --oversubscribe --bind-to none) over=()
	gpus=$(nvidia-smi -L | wc -l)
	[ "$gpus" -gt 1 ] || over=(--oversubscribe-gpu)
	mkdir -p $dir
	$build/gnnrun generate sbm $dir/g.h5 --vertices 60000 --communities 8 --feat-dim 48 \
		--train-count 9001 >"$out/generate.log"
	for arch in gcn sage gat; do
		parallel_run 1 $arch --fanout 5,10 --epochs 2 --batch-size 1000
		first=
		for o in step-cpu step-gpu-sample step-gpu-gather step-gpu \
			"step-gpu --pipeline off"; do
			# shellcheck disable=SC2086
			parallel_run 2 $arch "${over[@]}" --fanout 5,10 --epochs 2 \
				--batch-size 1000 --orchestration $o
			same $dir/m.safetensors "$arch $o"
		done
		"$python" -c "
import json, sys
reports = [json.load(open(f'$out/parallel{n}.json')) for n in (1, 2)]
assert all(r['backend'] == 'cuda' for r in reports), 'auto did not take the GPU'
a, b = [[(e['loss'], e['valid'], e['wall_s']) for e in r['epochs']] for r in reports]
far = max(abs(x[0] / y[0] - 1) for x, y in zip(a, b))
print('$arch: losses of two ranks are', far, 'from one; (loss, valid, s)', a[-1], b[-1])
sys.exit(far > 1e-4)" || { echo "FAILED: $arch"; failed=1; }
	done
	[ "$gpus" -lt 2 ] || parallel_time
	rm -rf $dir
}
step_ranks() {
	local dir=/dev/shm/gnnrun-ranks gpus
	local launch=(mpirun --allow-run-as-root --oversubscribe --bind-to none) over=()
	gpus=$(nvidia-smi -L | wc -l)
	[ "$gpus" -gt 1 ] || over=(--oversubscribe-gpu)
	mkdir -p $dir
	must "$python" tests/cases_test.py $build/gnnrun \
		--launch "${launch[*]} -np 2" -- --backend cuda "${over[@]}" >"$out/ranks-cases.log"
	tail -1 "$out/ranks-cases.log"
	ranks_bits
	grep -E 'ranks|mpi' "$out/ranks.log" | head -8
	if [ "$gpus" -gt 1 ]; then # through host memory: the same bits as by NCCL
		sha256sum <$dir/e2.npy
		CUDA_VISIBLE_DEVICES=0 ranks_run 2 --oversubscribe-gpu
		sha256sum <$dir/e2.npy
		ranks_time
		"${launch[@]}" -np 2 $build/gnnrun bench collective --backend cuda \
			--blocks 4K,1M,64M,512M || failed=1
	fi
	rm -rf $dir
}

tiered_run() { # store, model, options: one inference, its JSON in tiered.json, its bits in $sum
	local store=$1 model=$2
	shift 2
	$build/gnnrun infer "$store" --model "$model" --out "$dir/e.h5" --backend cuda --json "$@" \
		>"$out/tiered.json" 2>"$out/tiered.log" ||
		{ echo "FAILED: $*: $(tail -1 "$out/tiered.log")"; failed=1; }
	must $build/gnnrun export "$dir/e.h5" "$dir/e.npy" >"$out/tiered.log"
	sum=$(sha256sum <"$dir/e.npy")
	rm -f "$dir/e.h5" "$dir/e.npy"
}

same_bits() { # as, what
	[ "$sum" = "$1" ] || { echo "FAILED: $2: other bits"; failed=1; }
}

tiered_bits() { # every policy at a quarter of the states, and the smallest stores
	local first small policy
	$build/gnnrun generate rmat $dir/g.h5 --scale 16 --edge-factor 16 --feat-dim 100 \
		>"$out/generate.log"
	$build/gnnrun generate rmat $dir/s.h5 --scale 13 --edge-factor 12 --feat-dim 40 \
		>"$out/generate.log"
	local smallest=(belady pending lru fifo)
	for arch in gcn sage gin gat; do
		$build/gnnrun model --seeded $arch --dims 100,64,40 --out $dir/m.safetensors \
			>"$out/model.log"
		$build/gnnrun model --seeded $arch --dims 40,16,8 --out $dir/s.safetensors \
			>"$out/model.log"
		tiered_run $dir/g.h5 $dir/m.safetensors --plan resident
		first=$sum
		for policy in belady pending lru fifo random; do
			tiered_run $dir/g.h5 $dir/m.safetensors --plan tiered --evict $policy \
				--gpu-store 4M --hot-store 2M --chunk-bytes "${TIERED_CHUNK:-1}"
			same_bits "$first" "$arch $policy"
			[ $policy != belady ] || tiered_say "$arch, a quarter, chunks of a panel"
		done
		tiered_run $dir/g.h5 $dir/m.safetensors --plan tiered --chunk-bytes 64M
		same_bits "$first" "$arch, room for all"
		tiered_run $dir/s.h5 $dir/s.safetensors --plan resident
		small=$sum
		tiered_run $dir/s.h5 $dir/s.safetensors --plan tiered --evict "${smallest[0]}" \
			--gpu-store min --hot-store min --chunk-bytes 1
		same_bits "$small" "$arch, smallest"
		echo "$arch: equal bits, the smallest stores with ${smallest[0]}"
		smallest=("${smallest[@]:1}")
	done
}

tiered_say() { # what: figures of the run before
	"$python" -c "
import json
r = json.load(open('$out/tiered.json'))
l = r['layers'][0]
print('$1: %s, features %.3f s, all %.3f s, predicted %.2f s,' % (
    l['plan'], r['feature_s'], r['stream_s'], r['predicted_s']),
    'evictions %d, reloads %d, spilled %.0f MB, pinned %d with %.3f of the messages,' % (
    l['evictions'], l['reloads'], l['cold_written_bytes'] / 1e6, l['pinned_vertices'],
    l['pinned_messages'] / max(l['messages'], 1)),
    'device %.0f MB' % (r['peak_device_bytes'] / 1e6))"
}

tiered_time() { # where the store is, options: plans turn by turn, a quarter of the states in memory
	local where=$1 o i
	shift
	local -A plan=([resident]="--plan resident" [partitioned]="--plan partitioned")
	for o in belady pending lru fifo random; do
		plan[$o]="--plan tiered --evict $o --gpu-store 64M --hot-store 64M"
	done
	plan[device]="--plan tiered --gpu-store 128M" # and all of the others in host memory
	plan[auto]="--gpu-memory 400M"
	for o in ${TIERED_TURNS:-resident belady device pending lru fifo random resident belady \
		device auto}; do
		# shellcheck disable=SC2086
		tiered_run "$where/t.h5" $dir/m.safetensors ${plan[$o]} "$@"
		[ -n "$first" ] || first=$sum
		same_bits "$first" "$o $*"
		tiered_say "$o $*"
	done
}

step_tiered() { # stores on the device, in host memory and on disk: bits and seconds of resident
	local dir=/dev/shm/gnnrun-tiered disk="${DISK:-.}/gnnrun-tiered" sum first=
	mkdir -p $dir "$disk"
	[ -n "${TIERED_TURNS:-}" ] || tiered_bits
	rm -f $dir/*
	$build/gnnrun model --seeded gcn --dims 1024,128,64 --out $dir/m.safetensors \
		>"$out/model.log"
	must $build/gnnrun generate sbm "$disk/t.h5" --vertices 1000000 --edge-factor 16 \
		--feat-dim 1024 --communities 64 --mixing .05 --no-shuffle >"$out/generate.log"
	tiered_time "$disk" --io "${TIERED_IO:-uring}" --scratch "$disk"
	rm -rf $dir "$disk"
}

step_design() { # the published design against ours, from memory, turn by turn
	local dir=/dev/shm/gnnrun-design
	mkdir -p $dir
	must $build/gnnrun generate sbm $dir/g.h5 --vertices 1000000 --edge-factor 16 \
		--feat-dim 1024 --communities 64 --no-shuffle >"$out/generate.log"
	$build/gnnrun model --seeded gcn --dims 1024,128,64 --out $dir/m.safetensors \
		>"$out/model.log"
	local quarter="--plan tiered --hot-store 1G --evict pending" # of its states
	for i in 1 2; do
		for o in "--backend cuda" "--backend cuda --design published" \
			"--backend cpu --design published" \
			"--backend cpu --design published $quarter"; do
			# shellcheck disable=SC2086
			must $build/gnnrun infer $dir/g.h5 --model $dir/m.safetensors \
				--out $dir/e.h5 --io map --chunk-bytes 64M $o --json \
				>"$out/design.json"
			"$python" -c "
import json
r = json.load(open('$out/design.json'))
l = r['layers'][0]
print(f'$o: features {r[\"feature_s\"]:.3f} s, layers',
      ' and '.join(f'{x[\"wall_s\"]:.3f}' for x in r['layers']),
      f's, stream {r[\"stream_s\"]:.3f} s, evictions {l[\"evictions\"]}, spilled '
      f'{l[\"cold_written_bytes\"] / 1e9:.1f} GB')"
		done
	done
	rm -rf $dir
}

step_time() {
	"$python" tests/bench/gpu_ceiling.py || true
	time_one narrow "--scale 22 --edge-factor 15 --feat-dim 128" 128,64 5
	time_one narrow128 "--scale 22 --edge-factor 15 --feat-dim 128" 128,128 5
	time_one wide "--scale 22 --edge-factor 16 --feat-dim 1024" 1024,128 5
	"$python" tests/bench/gpu_ceiling.py || true
}

step_disk() { # from disk, beside the disk
	# shellcheck disable=SC2086
	must "$python" tests/bench/infer_vs_disk.py $build/gnnrun --folder "${DISK:-.}" \
		--scale "${SCALE:-22}" --repeats "${REPEATS:-3}" \
		--archs "${ARCHS:-gcn,sage,gin,gat}" \
		--backend cuda --json "$out/disk.json" --trace -- --chunk-bytes "${CHUNK:-64M}" \
		${OPTIONS:-}
}

nvidia-smi --query-gpu=name,memory.total --format=csv,noheader || true
for s in "${steps[@]}"; do
	say "$s"
	"step_$s"
done
echo
[ $failed -eq 0 ] && echo "all passed" || echo "something failed"
exit $failed
