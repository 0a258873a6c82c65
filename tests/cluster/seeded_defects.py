#!/usr/bin/env python3
"""Puts defects into the master and the queues of a cluster, one at a time, and checks that the simulation finds each.

usage: seeded_defects.py [SEEDS]      SEEDS: of which one has to find it (10000). CXX names the compiler.
The simulation's own objects are compiled once; a defect costs the compilation of one small file and a run until its first finding.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MASTER, QUEUE = "src/cluster/master/master.cpp", "src/cluster/container/task_queue.cpp"
COPIES = "src/cluster/master/master_copies.cpp"
WRITTEN = "src/cluster/container/written_name.cpp"  # no defect of it is found yet

# What is wrong, where, the code as it is, and with the defect.
DEFECTS = [
    ("answers of earlier attempts are taken", MASTER, "known.attempt == t.attempt && known.host == h", "known.host == h"),
    ("answers that come twice are taken", MASTER, "if (known.is == state::asked && known.attempt", "if (known.attempt"),
    ("a task runs before its process is there", MASTER, "if (failed_ || !is_ready ||", "if (failed_ ||"),
    ("a receiver begins before all have sent", QUEUE, "b.attempt ? state::wanted : state::expected",
     "b.attempt ? state::wanted : state::here"),
    ("blocks that are yet to be sent pass for sent ones", MASTER,
     "if (from.is != state::done) return {sending, 0, host_of(at), 0, {}};",
     "if (from.is != state::done) return {sending, 0, host_of(at), 1, {}};"),
    ("what runs again makes the first bucket alone", MASTER, "else wanted.push_back(p);", "else wanted.push_back(0);"),
    ("all receivers get the first bucket", MASTER, "return sent.blocks.size() == 1 ? 0 : receiver; }", "return 0; }"),
    ("senders are named in reverse", MASTER, "run.task.blocks.push_back(block_for(k.what, q, at));",
     "run.task.blocks.push_back(block_for(k.what, senders - 1 - q, at));"),
    ("a lost process's running tasks are not asked for again", MASTER, "if (t.is == state::asked) set(k, p, state::waiting);", ""),
    ("a lost process's rows are thought to be there", MASTER,
     "if (t.is == state::done && leaves_something) set(k, p, state::idle);", ""),
    ("a lost process's blocks are thought to be there", MASTER,
     "if (t.is == state::done && leaves_something) set(k, p, state::idle);",
     "if (t.is == state::done && leaves_rows(k.what.does)) set(k, p, state::idle);"),
    ("rows that somebody wants are not computed again", MASTER,
     "if (t.is == state::idle && !k.released && leaves_rows(k.what.does) && !copies) set(k, p, state::waiting);", ""),
    ("blocks that are gone are not made again", MASTER, "if (sender.is == state::idle || lacks) want(sending, from);", ""),
    ("no process takes a lost one's place", MASTER, "host_of(p)});\n  else out.push_back(start_host{host_of(p)});",
     "host_of(p)});"),
    ("nothing is asked of a new process", MASTER,
     "for (const auto& [id, k] : steps_) try_run(id, copies ? copy_place() : e.host.partition, out);", ""),
    ("an old process's word counts for the new one", MASTER,
     "else if (e.host.partition >= hosts_.size() || host_of(e.host.partition) != e.host) return;", ""),
    ("receivers are not told of another block", MASTER, "else if (t.is == state::asked) out.push_back(redirect",
     "else if (false) out.push_back(redirect"),
    ("receivers that wait are not told that all have sent", MASTER, "else try_run(r, p, out);", ""),
    ("readers that wait for their rows are not asked", MASTER, "tries.emplace_back(r, at);", "{}"),
    ("a block that its sender has not got is not made again", MASTER, "if (e.gone) {", "if (false) {"),
    ("a pull that failed is not tried again", MASTER,
     "out.push_back(redirect{e.host, e.task, block_for(steps_.at(e.task.step).what, q, *at)});", ""),
    ("the first error that comes is the query's", MASTER, "if (!fails_at_ || at < *fails_at_) fails_at_ = at;", "fails_at_ = at;"),
    ("tasks before the one that failed do not go on", MASTER,
     "if (k.tasks[p].is == state::waiting || k.tasks[p].is == state::asked) return;", "(void)k;"),
    ("blocks go while somebody waits for them", MASTER, "if (read_later) return;", ""),
    ("losses have no limit", MASTER, "if (++hosts_[p].losses > options_.most_losses || !options_.replayable)", "if (!options_.replayable)"),
    ("sources that cannot be read twice are", MASTER, "if (++hosts_[p].losses > options_.most_losses || !options_.replayable)",
     "if (++hosts_[p].losses > options_.most_losses)"),
    ("a loss that is told twice counts twice", MASTER, "if (p >= hosts_.size() || local(p) || host_of(p) != e.host) return;",
     "if (p >= hosts_.size() || local(p)) return;"),
    ("a sender that lacks a bucket is not asked again", MASTER, "if (!lacking) return;", "return;"),
    ("nothing is ever given up", MASTER, "out.push_back(drop{host_of(p), s});", ""),
    ("blocks are kept until the end", MASTER, "|| (sends && !k.what.in_pieces && !k.readers.empty()))) return;",
     ")) return;\n  if (sends) return;"),
    ("a task begins before its blocks are here", QUEUE,
     "[](state s) { return s != state::here; })) return false;", "[](state) { return false; })) return false;"),
    ("a task begins before its rows are here", QUEUE, "return held_.contains(s); });", "return true; });"),
    ("more is on its way than the window", QUEUE, "if (on_the_way_ && on_the_way_ + bytes > options_.window) continue;", ""),
    ("another block than the one that is wanted is taken", QUEUE,
     "w->blocks[i] == state::on_the_way && w->task.blocks[i] == e.what) {\n        w->blocks[i] = state::here;",
     "w->blocks[i] == state::on_the_way) {\n        w->blocks[i] = state::here;"),
    ("a block that is on its way is pulled once more", QUEUE, "if (is == state::on_the_way && known == e.instead) continue;", ""),
    ("a missing block is not reported", QUEUE, "out.push_back(say_missing{e.task, e.what, e.gone, e.milliseconds});", ""),
    ("rows that differ when they are computed again pass for the same", MASTER, "if (before.blocks[b].alike(t.result.blocks[b])) continue;",
     "if (before.blocks[b].rows == t.result.blocks[b].rows) continue;"),
    ("rows that differ after some have left are taken", MASTER, "|| k.what.does == work::send))) return false;",
     "|| k.what.does == work::send))) continue;"),
    ("an error of a pull is not the query's", MASTER, "if (!is) return;",
     "if (!is || steps_.at(e.task.step).what.receives) return;"),
    ("a pull that ended without its block is on its way for ever", QUEUE,
     "void task_queue::on(const not_pulled& e, queue_actions& out) {\n  arrived(e.what);",
     "void task_queue::on(const not_pulled& e, queue_actions& out) {"),
    ("all tasks of a step get the first one's argument", MASTER, "k.what.arguments[k.what.arguments.size() == 1 ? 0 : partition]",
     "k.what.arguments[0]"),
    ("rounds go on after a loss as if nothing had been lost", MASTER, "if (std::any_of(steps_.begin(), steps_.end(), is_lost)) {",
     "if (false) {"),
    ("a loss gives up the rounds that are held", MASTER, "if (!k.what.of_round || (is_held(k) && !held_too)) {",
     "if (!k.what.of_round) {"),
    ("a round that is being held passes for one that is", MASTER, "if (!k.what.of_round || (is_held(k) && !held_too)) {",
     "if (!k.what.of_round || (k.what.does == work::hold && !held_too)) {"),
    ("nobody is told of rounds that are given up", MASTER, "out.push_back(give_up{host_of(p), id});", "(void)out;"),
    ("an error of a round that was given up counts", MASTER,
     "if (fails_at_ && !steps_.contains(fails_at_->first)) fails_at_.reset();", ""),
    ("a leader is not told that rounds are lost", MASTER, "rounds_lost_ = true;", ""),
    ("tasks that are given up wait for ever", QUEUE, "if (w.task.id.step != e.step || w.working) return false;", "return false;"),
    ("a task that is given up ends while it works", QUEUE, "if (w.task.id.step != e.step || w.working) return false;",
     "if (w.task.id.step != e.step) return false;"),
    ("what a given-up task has left stays", QUEUE, "    return true;\n  });\n  dropped_.insert(e.step);", "    return true;\n  });"),
    ("the first piece of a partition is handed on again and again", MASTER, "receiving.only ? receiving.only->bucket :",
     "receiving.only ? 0 :"),
    ("a lost partition's rows are not made again to be handed on", MASTER, "if (!reads_sender(k.what, q)) continue;",
     "if (k.what.only) continue;"),
    ("pieces that run again are those of receivers that wait", MASTER, "t.attempt > 1 && !k.what.in_pieces) run", "t.attempt > 1) run"),
    ("the error of a copy is its task's", MASTER, "if (*is == copy_place()) return;", ""),
    ("the slow process goes on when its copy has come first", COPIES, "out.push_back(end_host{host_of(p)});", ""),
    ("a copy goes on when its task is done", COPIES, "out.push_back(end_host{copy_->host});", ""),
    ("a copy that comes second is not ended", MASTER,
     "if (copy_ && place{s, p} == place{copy_->of, copy_->host.partition}) end_copy(out);", ""),
    ("what a copy has made is lost when it takes over", MASTER, "if (copy.is == state::done) t.result = copy.result;", ""),
    ("a copy takes over, and receivers are not told", COPIES,
     "known->second.tasks[p].is == state::done) offer_blocks(s, p, out);", "false) offer_blocks(s, p, out);"),
    ("rows of a copy that come out another way are taken", COPIES,
     "if (!known.blocks.empty() && !alike(known, k.copy.result)) return end_copy(out);", "(void)known;"),
    ("rows that are sent again for a copy end the query", COPIES, "if (as_before) return false;", "return false;"),
    ("a copy begins in the slow process", COPIES, "if (q == other_than || hosts_", "if (hosts_"),
    ("rounds are copied whose rows are gone", COPIES, "found->second.released || found->second.what.of_round) return false;",
     "found->second.released) return false;"),
    ("a copy of one partition takes the place of another", MASTER, "by_copy ? std::exchange(k.copy, {}) : one{}",
     "std::exchange(k.copy, {})"),
    ("what a copy has left stays", MASTER, "out.push_back(drop{copy_->host, s});", ""),
    ("blocks that are not wanted stay", QUEUE, "  out.push_back(discard{e.task, e.what});\n}", "}"),
]


def main():
    seeds = sys.argv[1] if len(sys.argv) > 1 else "10000"
    with tempfile.TemporaryDirectory() as folder:
        return run(pathlib.Path(folder), seeds)


def compiled(source, to):
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-I", ROOT / "include", "-I", ROOT / "src", "-I", ROOT / "tests/cluster",
               "-c", source, "-o", to]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return to


def run(folder, seeds):
    names = ["simulation.cpp", "simulated_leader.cpp", "simulated_plans.cpp", "simulation_test.cpp"]
    own = [compiled(ROOT / "tests/cluster" / n, folder / (n + ".o")) for n in names]
    whole = {s: compiled(ROOT / s, folder / (pathlib.Path(s).name + ".o")) for s in (MASTER, COPIES, QUEUE, WRITTEN)}

    def found(name, objects):
        program = folder / name
        subprocess.run([os.environ.get("CXX", "c++"), *own, *objects, "-lgtest_main", "-lgtest", "-lpthread", "-o", program], check=True)
        environment = dict(os.environ, QUERY_TEST_SEEDS=seeds)
        try:
            result = subprocess.run([program, "--gtest_filter=simulation.any_losses*"], env=environment, capture_output=True, timeout=300)
        except subprocess.TimeoutExpired:
            return True  # it does not end, which is found as well
        return result.returncode != 0

    if found("whole", list(whole.values())):
        print("seeded_defects: the simulation fails without a defect")
        return 1

    def look_for(item):
        number, (what, source, right, wrong) = item
        text = (ROOT / source).read_text()
        if text.count(right) != 1:
            return f"{what}: its code is there {text.count(right)} times"
        changed = folder / f"defect{number}.cpp"
        changed.write_text(text.replace(right, wrong))
        try:
            compiled(changed, folder / f"defect{number}.o")
        except subprocess.CalledProcessError:
            return f"{what}: it does not compile"
        others = [o for s, o in whole.items() if s != source]
        return None if found(f"defect{number}", [folder / f"defect{number}.o", *others]) else f"{what}: not found"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        wrong = [w for w in threads.map(look_for, enumerate(DEFECTS)) if w]
    for w in wrong:
        print("seeded_defects:", w)
    print(f"seeded_defects: {len(DEFECTS) - len(wrong)} of {len(DEFECTS)} found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
