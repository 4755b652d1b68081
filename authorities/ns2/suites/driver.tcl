# One case of ns-2's own test suites in ns-2.35:  ns driver.tcl NAME=VALUE ...
#
# suites.py calls this driver with every setting of a case. Packets at every link go to OUT.q, the round
# trips of flow N to OUT.N.
foreach setting $argv {
  set cut [string first = $setting]
  lappend o([string range $setting 0 [expr {$cut - 1}]]) [string range $setting [expr {$cut + 1}] end]
}
proc one {name} { upvar #0 o o; return [lindex $o($name) 0] }
proc each {name} { upvar #0 o o; if {[info exists o($name)]} { return $o($name) }; return {} }

Trace set show_tcphdr_ 0
foreach {name value} {setbit_ true  bytes_ false  queue_in_bytes_ false  q_weight_ 0.002
                      thresh_ 5  maxthresh_ 15} { Queue/RED set $name $value }
Queue/RED set ns1_compat_ [one ns1_compat]
set ns [new Simulator]
set queues [open [one out].q w]
$ns trace-all $queues
# Nodes are numbered in the order in which they are made: s1 0, s2 1, r1 2, k1 3.
foreach name [one nodes] { set node($name) [$ns node] }
foreach link [each link] {
  lassign $link from to rate delay limit kind
  $ns duplex-link $node($from) $node($to) $rate $delay $kind
  $ns queue-limit $node($from) $node($to) $limit
  $ns queue-limit $node($to) $node($from) $limit
}
# A blocked link starts no packet from the instant `start` to the instant `end`.
foreach wait [each blocked] {
  lassign $wait from to start end
  set delayer [new Delayer]
  $ns insert-delayer $node($from) $node($to) $delayer
  $ns at $start "$delayer block"
  $ns at $end "$delayer unblock"
}
# Makes a link lose packets of flow 1, or delay them by `hold` seconds if `hold` is above 0. `numbers` has the
# numbers of these packets, counted from 1 in the order in which the flow's packets come to the link.
proc pick {from to numbers hold} {
  global ns node
  set places {}
  foreach number $numbers { lappend places [expr {$number - 1}] }
  set model [new ErrorModel/List]
  $model set delay_pkt_ [expr {$hold > 0}]
  $model set delay_ $hold
  $model droplist $places
  set module [new ErrorModule Fid]
  [$ns link $node($from) $node($to)] errormodule $module
  $module insert $model
  $module bind $model 1
}
foreach lost [each lost] { pick {*}$lost 0 }
foreach late [each late] { pick {*}$late }
array set senders {tahoe TCP reno TCP/Reno newreno TCP/Newreno sack TCP/Sack1}
array set sinks {tahoe TCPSink reno TCPSink newreno TCPSink sack TCPSink/Sack1}
# A flow has its number, two ends, the kind of its sender, a number of packets (0: without end), its start, the
# delay of ACKs, and the variables of its sender and its sink.
foreach flow [each flow] {
  lassign $flow number from to recovery packets start hold sender_set sink_set
  set sink $sinks($recovery)
  if {$hold > 0} { append sink /DelAck }
  set tcp [new Agent/$senders($recovery)]
  set snk [new Agent/$sink]
  $ns attach-agent $node($from) $tcp
  $ns attach-agent $node($to) $snk
  $tcp set fid_ $number
  foreach {name value} $sender_set { $tcp set $name $value }
  foreach {name value} $sink_set { $snk set $name $value }
  if {$hold > 0} { $snk set interval_ $hold }
  $ns connect $tcp $snk
  set rtts($number) [open [one out].$number w]
  $tcp trace rtt_
  $tcp attach $rtts($number)
  set ftp [$tcp attach-app FTP]
  set begins($number) [expr {$packets > 0 ? "$start $ftp produce $packets" : "$start $ftp start"}]
}
foreach number [lsort -integer [array names begins]] {
  $ns at [lindex $begins($number) 0] [lrange $begins($number) 1 end]
}
$ns at [one stop] {
  close $queues
  foreach number [array names rtts] { close $rtts($number) }
  exit 0
}
$ns run
