# Web traffic of PackMime-HTTP over one bottleneck in ns-2.35:  ns driver.tcl NAME=VALUE ...
#
#   client ---access--- near ---bottleneck--- far ---access--- server
#
# OUT.started gets a line for each request when the request is sent.  OUT.done gets a line for each
# reply when the last octet of the reply has arrived.  Both files have PackMime's own formats.  The
# counts of the bottleneck's two queues go to the standard output.  packmime_runs.py calls this
# driver and gives the value of every setting.
foreach setting $argv {
  set cut [string first = $setting]
  set o([string range $setting 0 [expr {$cut - 1}]]) [string range $setting [expr {$cut + 1}] end]
}
Agent/TCP/FullTcp set segsize_ $o(segment)
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP
$ns use-scheduler Heap
foreach name {client near far server} { set node($name) [$ns node] }

proc join_nodes {a b rate delay limit} {
  global ns node
  $ns duplex-link $node($a) $node($b) $rate $delay DropTail
  $ns queue-limit $node($a) $node($b) $limit
  $ns queue-limit $node($b) $node($a) $limit
}
join_nodes client near $o(access_rate) $o(access_delay) $o(access_queue)
join_nodes near far $o(rate) $o(delay) $o(queue)
join_nodes far server $o(access_rate) $o(access_delay) $o(access_queue)
set queue(requests) [$ns monitor-queue $node(near) $node(far) ""]
set queue(replies) [$ns monitor-queue $node(far) $node(near) ""]

# PackMime makes its random variables itself.  Each has a generator of its own, and `run` is the number
# of the substream in all of them.
set web [new PackMimeHTTP]
$web set-client $node(client)
$web set-server $node(server)
$web set-rate $o(connections)
$web set-run $o(run)
$web set-TCP Reno
$web set-outfile $o(out).done
$web set-samples-outfile $o(out).started

proc report {} {
  global queue
  foreach way {requests replies} {
    foreach {count variable} {octets bdepartures_ packets pdepartures_ drops pdrops_ dropped bdrops_} {
      puts "${way}_$count [$queue($way) set $variable]"
    }
  }
  exit 0
}
$ns at 0 "$web start"
$ns at $o(stop) report
$ns run
