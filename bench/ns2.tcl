# The workloads of this folder in ns-2.35:  ns ns2.tcl W1|W2|W3
#
# The senders are Sack1, and there is one ACK for each packet. There is no trace, packets have only the
# headers that are needed, and the event queue is a calendar queue. The program prints the number of
# packet-hops; a packet-hop is one packet over one link. Each data packet that is sent crosses one link.
# Each data packet that is not dropped crosses two more links, and its ACK crosses three. The number of
# dropped packets is taken to be the number of retransmissions.
remove-all-packet-headers
add-packet-header IP TCP Flags
foreach {name value} {
    packetSize_ 1460  window_ 100000  windowInit_ 10  tcpTick_ 0.001  minrto_ 0.2
    syn_ false  delay_growth_ false
} { Agent/TCP set $name $value }
set ns [new Simulator]
proc link {a b rate delay limit} {
  global ns
  $ns duplex-link $a $b $rate $delay DropTail
  $ns queue-limit $a $b $limit
  $ns queue-limit $b $a $limit
}
# The columns: flows, host pairs, packets of a flow (0: without end), time between the starts of two
# flows, stop, access rate, and the rate, the delay and the queue limit of the bottleneck.
array set workload {
  W1 {1     1   0  0     60 1000Mb  100Mb  10ms 100}
  W2 {100   100 0  0.001 10 1000Mb  1000Mb 8ms  1667}
  W3 {10000 1   14 0.001 12 10000Mb 1000Mb 8ms  1667}
}
lassign $workload([lindex $argv 0]) flows pairs packets gap stop access rate delay limit
set west [$ns node]
set east [$ns node]
link $west $east $rate $delay $limit
for {set i 0} {$i < $pairs} {incr i} {
  set source($i) [$ns node]
  set sink($i) [$ns node]
  link $source($i) $west $access 1ms 100000
  link $east $sink($i) $access 1ms 100000
}
for {set i 0} {$i < $flows} {incr i} {
  set sender($i) [new Agent/TCP/Sack1]
  set receiver [new Agent/TCPSink/Sack1]
  $ns attach-agent $source([expr {$i % $pairs}]) $sender($i)
  $ns attach-agent $sink([expr {$i % $pairs}]) $receiver
  $ns connect $sender($i) $receiver
  set at [expr {$i * $gap}]
  if {$packets > 0} {
    $ns at $at "$sender($i) advance $packets"
  } else {
    set application [new Application/FTP]
    $application attach-agent $sender($i)
    $ns at $at "$application start"
  }
}
$ns at $stop {
  set sent 0
  set resent 0
  for {set i 0} {$i < $flows} {incr i} {
    incr sent [$sender($i) set ndatapack_]
    incr resent [$sender($i) set nrexmitpack_]
  }
  puts "hops [expr {$sent + 5 * ($sent - $resent)}]"
  exit 0
}
$ns run
