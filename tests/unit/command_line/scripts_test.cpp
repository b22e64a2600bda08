// The scripts and the manual page of one small program, word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "command_line/command_line.h"

namespace inferflux {
namespace {

// Words with choices, files, several letters after a dash, quotes and lines that roff would take for requests.
CommandDescription MakeServer() {
  const OptionDescription help{.names = {"--help", "-h"}, .help = "print this"};
  return {
      .name = "my-tool",
      .about = "Serves.\n.Not 'a' request.",
      .footer = ".see it's \\here",
      .options = {help,
                  {.names = {"--version"}, .help = "print the version"},
                  {.names = {"--url", "-u", "-ngl"}, .value = "URL", .help = "the server's [address]: a\\b"},
                  {.names = {"--level"}, .value = "LEVEL", .help = "how much", .choices = {"debug", "info"}},
                  {.names = {"--config"}, .value = "FILE", .help = "settings", .takes_file = true, .repeats = true},
                  {.names = {"--json"}, .help = "print JSON"}},
      .words = {},
      .commands = {
          {.name = "admin",
           .about = "looks after\nmodels",
           .footer = "",
           .options = {help},
           .words = {},
           .commands = {{.name = "load",
                         .about = "loads it",
                         .footer = "",
                         .options = {help, {.names = {"--pin"}, .value = "N", .help = "for how long"}},
                         .words = {{.value = "MODEL", .help = "which", .takes_file = true, .required = true},
                                   {.value = "WHERE", .help = "on what", .choices = {"cpu", "gpu"}, .repeats = true}},
                         .commands = {}}}},
          {.name = "list", .about = "lists", .footer = "", .options = {help}, .words = {}, .commands = {}}}};
}

TEST(ScriptsTest, Bash) {
  EXPECT_EQ(BashCompletion(MakeServer()), R"~(# bash completion for my-tool
_my_tool() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='my-tool' words i
  COMPREPLY=()
  # "--option=value" comes as three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --url|-u|-ngl|--level|--config|--pin) ((i++)); continue ;;
    esac
    case "$path ${COMP_WORDS[i]}" in
      'my-tool admin') path='my-tool admin' ;;
      'my-tool admin load') path='my-tool admin load' ;;
      'my-tool list') path='my-tool list' ;;
    esac
  done
  case "$path:$prev" in
    'my-tool admin load:--pin') return ;;
    *':--url'|*':-u'|*':-ngl') return ;;
    *':--level') COMPREPLY=($(compgen -W 'debug info' -- "$cur")); return ;;
    *':--config') COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case $path in
    'my-tool') words='admin list --help -h --version --url -u -ngl --level --config --json' ;;
    'my-tool admin') words='load --help -h' ;;
    'my-tool admin load') words='--help -h --pin cpu gpu' ;;
    'my-tool list') words='--help -h' ;;
  esac
  [[ $path == 'my-tool' ]] || words+=" "'--url -u -ngl --level --config --json '
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -o bashdefault -F _my_tool my-tool
)~");
}

TEST(ScriptsTest, Zsh) {
  EXPECT_EQ(ZshCompletion(MakeServer()), R"~(#compdef my-tool

_my_tool() {
  local context state line
  typeset -A opt_args
  _arguments -C \
    '--help[print this]' \
    '-h[print this]' \
    '--version[print the version]' \
    '--url[the server'\''s \[address\]\: a\\b]:URL: ' \
    '-u[the server'\''s \[address\]\: a\\b]:URL: ' \
    '-ngl[the server'\''s \[address\]\: a\\b]:URL: ' \
    '--level[how much]:LEVEL:(debug info)' \
    '*--config[settings]:FILE:_files' \
    '--json[print JSON]' \
    '1:command:(( admin\:"looks after" list\:"lists"))' \
    '*::argument:->argument'
  case $state in
    argument)
      case $line[1] in
        admin) _my_tool_admin ;;
        list) _my_tool_list ;;
      esac ;;
  esac
}

_my_tool_admin() {
  local context state line
  typeset -A opt_args
  _arguments -C \
    '--help[print this]' \
    '-h[print this]' \
    '--url[the server'\''s \[address\]\: a\\b]:URL: ' \
    '-u[the server'\''s \[address\]\: a\\b]:URL: ' \
    '-ngl[the server'\''s \[address\]\: a\\b]:URL: ' \
    '--level[how much]:LEVEL:(debug info)' \
    '*--config[settings]:FILE:_files' \
    '--json[print JSON]' \
    '1:command:(( load\:"loads it"))' \
    '*::argument:->argument'
  case $state in
    argument)
      case $line[1] in
        load) _my_tool_admin_load ;;
      esac ;;
  esac
}

_my_tool_admin_load() {
  local context state line
  typeset -A opt_args
  _arguments -C \
    '--help[print this]' \
    '-h[print this]' \
    '--pin[for how long]:N: ' \
    '--url[the server'\''s \[address\]\: a\\b]:URL: ' \
    '-u[the server'\''s \[address\]\: a\\b]:URL: ' \
    '-ngl[the server'\''s \[address\]\: a\\b]:URL: ' \
    '--level[how much]:LEVEL:(debug info)' \
    '*--config[settings]:FILE:_files' \
    '--json[print JSON]' \
    ':MODEL:_files' \
    '*:WHERE:(cpu gpu)' \
    && return
}

_my_tool_list() {
  local context state line
  typeset -A opt_args
  _arguments -C \
    '--help[print this]' \
    '-h[print this]' \
    '--url[the server'\''s \[address\]\: a\\b]:URL: ' \
    '-u[the server'\''s \[address\]\: a\\b]:URL: ' \
    '-ngl[the server'\''s \[address\]\: a\\b]:URL: ' \
    '--level[how much]:LEVEL:(debug info)' \
    '*--config[settings]:FILE:_files' \
    '--json[print JSON]' \
    && return
}

if [ "$funcstack[1]" = "_my_tool" ]; then _my_tool "$@"; else compdef _my_tool my-tool; fi
)~");
}

TEST(ScriptsTest, Fish) {
  EXPECT_EQ(FishCompletion(MakeServer()), R"~(# fish completion for my-tool
complete -c my-tool -l help -s h -d 'print this'
complete -c my-tool -l version -d 'print the version'
complete -c my-tool -l url -s u -o ngl -x -d 'the server\'s [address]: a\\b'
complete -c my-tool -l level -x -a 'debug info' -d 'how much'
complete -c my-tool -l config -rF -d 'settings'
complete -c my-tool -l json -d 'print JSON'
complete -c my-tool -n 'not __fish_seen_subcommand_from admin list' -f -a admin -d 'looks after'
complete -c my-tool -n '__fish_seen_subcommand_from admin' -l help -s h -d 'print this'
complete -c my-tool -n '__fish_seen_subcommand_from admin; and not __fish_seen_subcommand_from load' -f -a load -d 'loads it'
complete -c my-tool -n '__fish_seen_subcommand_from admin; and __fish_seen_subcommand_from load' -l help -s h -d 'print this'
complete -c my-tool -n '__fish_seen_subcommand_from admin; and __fish_seen_subcommand_from load' -l pin -x -d 'for how long'
complete -c my-tool -n 'not __fish_seen_subcommand_from admin list' -f -a list -d 'lists'
complete -c my-tool -n '__fish_seen_subcommand_from list' -l help -s h -d 'print this'
)~");
}

TEST(ScriptsTest, ManualPage) {
  EXPECT_EQ(ManPage(MakeServer(), "1.2"), R"~(.TH MY-TOOL 1 "" "InferFlux 1.2" "InferFlux"
.SH NAME
my\-tool \- Serves.
.SH SYNOPSIS
\fBmy\-tool\fR [\fIOPTIONS\fR] [\fICOMMAND\fR]
.SH DESCRIPTION
.nf
Serves.
\&.Not 'a' request.
.fi
.SH OPTIONS
.TP
\fB\-\-help\fR, \fB\-h\fR
print this
.TP
\fB\-\-version\fR
print the version
.TP
\fB\-\-url\fR, \fB\-u\fR, \fB\-ngl\fR \fIURL\fR
the server's [address]: a\eb
.TP
\fB\-\-level\fR \fILEVEL\fR
how much
.TP
\fB\-\-config\fR \fIFILE\fR
settings
.TP
\fB\-\-json\fR
print JSON
.SH COMMANDS
.SS my\-tool admin
\fBmy\-tool admin\fR [\fIOPTIONS\fR] [\fICOMMAND\fR]
.PP
looks after
models
.TP
\fB\-\-help\fR, \fB\-h\fR
print this
.SS my\-tool admin load
\fBmy\-tool admin load\fR [\fIOPTIONS\fR] \fIMODEL\fR [\fIWHERE\fR...]
.PP
loads it
.TP
\fIMODEL\fR
which
.TP
\fIWHERE\fR
on what
.TP
\fB\-\-help\fR, \fB\-h\fR
print this
.TP
\fB\-\-pin\fR \fIN\fR
for how long
.SS my\-tool list
\fBmy\-tool list\fR [\fIOPTIONS\fR]
.PP
lists
.TP
\fB\-\-help\fR, \fB\-h\fR
print this
.SH EXIT STATUS
.TP
\fB0\fR
done: it did what was asked
.TP
\fB1\fR
failed: the server refused, a file is missing or broken, a check found a difference
.TP
\fB2\fR
wrong usage: an unknown flag or command, or a value that is not allowed
.TP
\fB3\fR
no server answers: nothing listens at the address, or it ended in the middle of an answer
.TP
\fB130\fR
interrupted: by Ctrl\-C
.SH EXAMPLES AND NOTES
.nf
\&.see it's \ehere
.fi
)~");
}

}  // namespace
}  // namespace inferflux
