#include "server/reply/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Event(const std::string& name) { return "event: response." + name + "\ndata: {}\n\n"; }

TEST(EventLogTest, IsReadFromAnyEventOn) {
  EventLog log;
  log.Append(Event("created") + Event("in_progress"));
  std::string all, rest;
  size_t next = 0;
  EXPECT_FALSE(log.Read(next, all));
  EXPECT_EQ(next, 2u);
  log.Append(Event("completed"));
  log.End();
  EXPECT_TRUE(log.Read(next, all));
  EXPECT_EQ(all, Event("created") + Event("in_progress") + Event("completed"));
  next = 2;
  EXPECT_TRUE(log.Read(next, rest));
  EXPECT_EQ(rest, Event("completed"));
  next = 7;
  rest.clear();
  EXPECT_TRUE(log.Read(next, rest));
  EXPECT_EQ(rest, "") << "there is no such event";
}

TEST(EventLogTest, AStreamHasALastEventWhateverEndsIt) {
  EventLog cancelled;
  cancelled.Append(Event("created"));
  cancelled.End();
  cancelled.Append(Event("completed"));
  EXPECT_THAT(cancelled.bytes(), HasSubstr("event: error\ndata: {\"type\":\"error\",\"sequence_number\":1,"));
  EXPECT_THAT(cancelled.bytes(), Not(HasSubstr("completed")));
  EventLog empty;
  empty.End();
  EXPECT_THAT(empty.bytes(), HasSubstr("\"sequence_number\":0"));
}

TEST(EventLogTest, WhatDoesNotFitEndsTheEvents) {
  EventLog log;
  const std::string delta =
      "event: response.output_text.delta\ndata: {\"delta\":\"" + std::string(1 << 20, 'x') + "\"}\n\n";
  for (int i = 0; i < 20; ++i) log.Append(delta);
  log.Append(Event("completed"));
  log.End();
  EXPECT_LT(log.bytes().size(), EventLog::kMostBytes + 1000);
  EXPECT_THAT(log.bytes(), HasSubstr("\"code\":\"too_long\""));
  size_t next = 15;
  std::string last;
  EXPECT_TRUE(log.Read(next, last));
  EXPECT_EQ(last.find("event: error"), 0u);
}

}  // namespace
}  // namespace inferflux::server
