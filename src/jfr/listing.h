// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "jfr/events.h"
#include "jfr/names.h"
#include "jfr/recording.h"

namespace offcpu::jfr {

// A recording as text, to be held against what the JDK's own tool says.

// Adds how many events of each type `chunk` has to `counts`; metadata and checkpoints as
// "jdk.Metadata" and "jdk.CheckPoint", with the "com.oracle.jdk." of that time in version 1.
void CountEvents(const Chunk& chunk, std::map<std::string, uint64_t>* counts);

// The cursor's current event, in columns with tabs between them: type, start (ns since the epoch),
// duration (ns), the thread's OS id, Java id and OS name, frames of the stack, whether it was
// truncated, its innermost frame as type.method:line@bytecode/kind, and the selected fields as
// name=value, with semicolons between them: threads by their OS id, spans and times in ns, "none"
// for the timeout that is none. "-" is what is absent or null.
std::string EventRow(const Chunk& chunk, const Selection& selection, const EventCursor& cursor,
                     const Event& event, Names* names);

// "type.method:line" of each frame, the outermost first, with semicolons between them.
std::string CollapsedStack(const StackTrace& stack);

}  // namespace offcpu::jfr
