# One TCP flow over a chain of links in ns-2.35:  ns driver.tcl NAME=VALUE ...
#
# Packets and ACKs at every link go to OUT.q, the sender's variables to OUT.v.  drive.py calls this
# driver and turns both files into rows.  The caller must give the value of every setting, because
# this driver has no defaults.
foreach setting $argv {
  set cut [string first = $setting]
  set o([string range $setting 0 [expr {$cut - 1}]]) [string range $setting [expr {$cut + 1}] end]
}
array set sender {tahoe Agent/TCP reno Agent/TCP/Reno newreno Agent/TCP/Newreno
                  sack Agent/TCP/Sack1 fack Agent/TCP/Fack}
set sacking [expr {$o(recovery) in {sack fack}}]
set sink TCPSink
if {$o(delayed_ack) > 0} {
  append sink [expr {$sacking ? "/Sack1/DelAck" : "/DelAck"}]
  Agent/$sink set interval_ $o(delayed_ack)
} elseif {$sacking} {
  append sink /Sack1
}
ns-random 1
foreach {name value} [list \
    syn_ false  delay_growth_ false  useHeaders_ false  overhead_ 0  maxburst_ 0  ecn_ 0 \
    timestamps_ false  rfc2988_ true  numdupacks_ 3  rtxcur_init_ 3.0 \
    packetSize_ $o(packet)  window_ $o(window)  windowInit_ $o(initial_window) \
    tcpTick_ $o(tick)  minrto_ $o(minrto)  maxrto_ $o(maxrto) \
    singledup_ $o(limited_transmit)  bugFix_ $o(bugfix)] {
  Agent/TCP set $name $value
}
Agent/TCPSink set packetSize_ 40
set ns [new Simulator]
set queues [open $o(out).q w]
set variables [open $o(out).v w]
set node(0) [$ns node]
set last 0
# links: rate,delay,limit ...
foreach link $o(links) {
  lassign [split $link ,] rate delay limit
  set previous $last
  incr last
  set node($last) [$ns node]
  $ns duplex-link $node($previous) $node($last) $rate $delay DropTail
  $ns queue-limit $node($previous) $node($last) $limit
  $ns queue-limit $node($last) $node($previous) $limit
  $ns trace-queue $node($previous) $node($last) $queues
  $ns trace-queue $node($last) $node($previous) $queues
}
# drops: from,to,n ...  The link from `from` to `to` loses the n-th packet, counted from 1, that comes
# to it.
foreach drop $o(drops) {
  lassign [split $drop ,] from to nth
  lappend lost($from,$to) [expr {$nth - 1}]
}
foreach direction [array names lost] {
  lassign [split $direction ,] from to
  set model [new ErrorModel/List]
  $model droplist [lsort -integer $lost($direction)]
  $ns lossmodel $model $node($from) $node($to)
}
# delays: time,from,to,delay ...  From this time on, the link from `from` to `to` has this delay.
foreach step $o(delays) {
  lassign [split $step ,] time from to delay
  $ns at $time "\[\[$ns link \$node($from) \$node($to)] link] set delay_ $delay"
}
set tcp [new $sender($o(recovery))]
set snk [new Agent/$sink]
$ns attach-agent $node(0) $tcp
$ns attach-agent $node($last) $snk
$ns connect $tcp $snk
foreach name {rtt_ cwnd_} { $tcp trace $name }
$tcp attach $variables
if {$o(packets) > 0} {
  $ns at 0.0 "$tcp advance $o(packets)"
} else {
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns at 0.0 "$ftp start"
}
$ns at $o(stop) { close $queues; close $variables; exit 0 }
$ns run
