#!/usr/bin/env perl
# Writes tests/data/unicode/classes.txt, which unicode_test compares with this project's tables: what Perl's own copy of
# the Unicode Character Database says of each assigned character. Characters that later versions assign are not in it.
#
# usage: tools/unicode/list_classes.pl > tests/data/unicode/classes.txt
use strict;
use warnings;
use Unicode::UCD;

print "# Unicode " . Unicode::UCD::UnicodeVersion() . ": first and last character, general category, whether it is\n";
print "# white space (s) or of a word (w: Alphabetic, mark, decimal digit or connecting punctuation). See tools/unicode/.\n";
my @categories = qw(Lu Lt Ll Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co);
my %pattern = map { $_ => qr/^\p{gc=$_}\z/ } @categories;
my ($first, $last, $told) = (0, -1, '');
sub flush_range { printf "%X %X %s\n", $first, $last, $told if $told ne ''; }
my $before = 'Lu';
for my $code (0 .. 0x10FFFF) {
  my $says = '';
  if ($code < 0xD800 || $code > 0xDFFF) {
    my $char = chr $code;
    my $category = '';
    for my $each ($before, @categories) { if ($char =~ $pattern{$each}) { $category = $before = $each; last; } }
    if ($category ne '') {
      my $kind = $char =~ /^\p{White_Space}\z/ ? 's' : $char =~ /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]\z/ ? 'w' : '-';
      $says = "$category $kind";
    }
  }
  if ($says ne $told) { flush_range(); ($first, $told) = ($code, $says); }
  $last = $code;
}
flush_range();
