// SPDX-License-Identifier: Apache-2.0
// What makes threads wait for each other: the block's barrier and the collectives of a warp. Stricter than
// hardware on purpose: one source line, the same mask, and nobody may be missing.
#include "tests/simt/check.h"
#include "tests/simt/engine.h"

namespace simt {

// ---- barrier of the block
// ----------------------------------------------------------------------------------------
unsigned barrier(bool predicate, Site site) {
  if (!running) throw Error("__syncthreads outside of a kernel");
  InEngine inside;
  Machine& m = machine;
  if (m.waiting && site != m.barrier_site)
    fail("divergent barrier: reached ", site, " while others wait at ", m.barrier_site);
  m.barrier_site = running->site = site;
  m.votes += predicate;
  running->state = Thread::State::at_barrier;
  if (++m.waiting == m.threads.size()) {
    m.votes_result = m.votes, m.votes = m.waiting = 0;
    check::barrier();
    for (Thread& t : m.threads) wake(t);
  }
  pause();
  return m.votes_result;
}

// ---- collectives of a warp
// -----------------------------------------------------------------------------------------
namespace {

constexpr unsigned bit(unsigned lane) { return 1u << lane; }

unsigned live_lanes(unsigned warp) {
  unsigned lanes = 0;
  for (unsigned l = 0; l < 32 && warp * 32 + l < machine.threads.size(); ++l)
    if (machine.threads[warp * 32 + l].state != Thread::State::done) lanes |= bit(l);
  return lanes;
}

void complete_if_all_came(Meeting& meeting, unsigned warp) {
  const unsigned live = live_lanes(warp);
  if (meeting.complete || (meeting.arrived & live) != (meeting.mask & live)) return;
  meeting.complete = true;
  if (meeting.op == Op::syncwarp) check::warp_sync(warp, meeting.arrived);
  for (unsigned l = 0; l < 32; ++l)
    if (meeting.arrived & bit(l)) wake(machine.threads[warp * 32 + l]);
}

// The open meeting that the running thread joins, a fresh one if there is none. A meeting that shares a lane
// but differs in mask, operation or place can never complete.
Meeting& find_meeting(Op op, unsigned mask, Site site) {
  const unsigned me = bit(running->lane());
  auto& open = machine.open[running->warp()];
  for (auto& meeting : open) {
    Meeting& o = *meeting;
    if (o.complete) continue;
    if (o.op == op && o.mask == mask && o.site == site) return o;
    if ((o.mask & me) || (o.arrived & mask))
      fail("warp collective mismatch: lane ", running->lane(), " at ", site, " with mask ", Hex{mask},
           ", but lanes ", Hex{o.arrived}, " wait at ", o.site, " with mask ", Hex{o.mask});
  }
  if (machine.spare.empty()) machine.spare.push_back(std::make_unique<Meeting>());
  open.push_back(std::move(machine.spare.back()));
  machine.spare.pop_back();
  Meeting& fresh = *open.back();
  fresh = {op, mask, 0, 0, site, false, {}};
  return fresh;
}

// Brings a value, waits until every live lane of the mask has come, returns the meeting.
Meeting& meet(Op op, unsigned mask, uint64_t value, Site site) {
  Thread& t = *running;
  if (!(mask & bit(t.lane())))
    fail("warp collective at ", site, ": mask ", Hex{mask}, " does not name the calling lane ", t.lane());
  Meeting& meeting = find_meeting(op, mask, site);
  meeting.value[t.lane()] = value, meeting.arrived |= bit(t.lane());
  t.site = site, t.meeting = &meeting, t.state = Thread::State::in_collective;
  complete_if_all_came(meeting, t.warp());
  pause();
  return meeting;
}

// The last to leave gives the meeting back.
void leave(Meeting& meeting) {
  meeting.left |= bit(running->lane());
  running->meeting = nullptr;
  if (meeting.left != meeting.arrived) return;
  auto& open = machine.open[running->warp()];
  for (auto& o : open) {
    if (o.get() != &meeting) continue;
    machine.spare.push_back(std::move(o));
    if (&o != &open.back()) o = std::move(open.back());
    open.pop_back();
    return;
  }
}

}  // namespace

void thread_exits(Thread& t) {
  for (auto& meeting : machine.open[t.warp()]) complete_if_all_came(*meeting, t.warp());
}

uint64_t shuffle(unsigned mask, uint64_t value, unsigned source_lane, Site site) {
  InEngine inside;
  Meeting& meeting = meet(Op::shuffle, mask, value, site);
  const unsigned lane = source_lane % 32;
  if (!(meeting.arrived & bit(lane)))
    fail("shuffle at ", site, " reads lane ", lane, ", which does not take part (mask ", Hex{mask},
         ", present ", Hex{meeting.arrived}, ")");
  const uint64_t result = meeting.value[lane];
  leave(meeting);
  return result;
}

unsigned vote(unsigned mask, bool predicate, Site site) {
  InEngine inside;
  Meeting& meeting = meet(Op::vote, mask, predicate, site);
  unsigned ballot = 0;
  for (unsigned l = 0; l < 32; ++l)
    if ((meeting.arrived & bit(l)) && meeting.value[l]) ballot |= bit(l);
  leave(meeting);
  return ballot;
}

void syncwarp(unsigned mask, Site site) {
  InEngine inside;
  leave(meet(Op::syncwarp, mask, 0, site));
}

void fence() {
  if (!running) return;
  InEngine inside;
  check::fence();
}

}  // namespace simt
