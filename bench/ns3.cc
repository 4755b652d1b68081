// The workloads of this folder in ns-3.37:  ns3 W1|W2|W3
//
// The TCP is TcpNewReno with SACK and one ACK for each packet. There is no trace, and no queue
// discipline above the devices' drop-tail queues. ns-3 also sends SYNs and FINs, which netspurt and
// ns-2 do not send here. The program prints the number of packets that the devices' queues accepted.
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

struct Workload {
    uint32_t flows, pairs, segments;
    double gap, stop;
    std::string access, rate, delay, limit;
};

const std::map<std::string, Workload> kWorkloads = {
    {"W1", {1, 1, 0, 0, 60, "1Gbps", "100Mbps", "10ms", "100p"}},
    {"W2", {100, 100, 0, .001, 10, "1Gbps", "1Gbps", "8ms", "1667p"}},
    {"W3", {10000, 1, 14, .001, 12, "10Gbps", "1Gbps", "8ms", "1667p"}},
};
constexpr uint32_t kSegment = 1448;

std::vector<Ptr<PointToPointNetDevice>> g_devices;

Ipv4InterfaceContainer Join(Ptr<Node> a, Ptr<Node> b, const std::string &rate,
                            const std::string &delay, const std::string &limit,
                            Ipv4AddressHelper &addresses) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(limit));
    NetDeviceContainer devices = link.Install(a, b);
    auto interfaces = addresses.Assign(devices);
    addresses.NewNetwork();
    TrafficControlHelper().Uninstall(devices);
    for (uint32_t i = 0; i < 2; ++i)
        g_devices.push_back(DynamicCast<PointToPointNetDevice>(devices.Get(i)));
    return interfaces;
}

void SetDefaults() {
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
}

}  // namespace

int main(int argc, char **argv) {
    const Workload &w = kWorkloads.at(argc > 1 ? argv[1] : "W1");
    SetDefaults();
    NodeContainer nodes;
    nodes.Create(2 + 2 * w.pairs);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Join(nodes.Get(0), nodes.Get(1), w.rate, w.delay, w.limit, addresses);
    std::vector<Ipv4Address> sinks;
    for (uint32_t i = 0; i < w.pairs; ++i) {
        Join(nodes.Get(2 + 2 * i), nodes.Get(0), w.access, "1ms", "100000p", addresses);
        auto far = Join(nodes.Get(1), nodes.Get(3 + 2 * i), w.access, "1ms", "100000p", addresses);
        sinks.push_back(far.GetAddress(1));
        PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001))
            .Install(nodes.Get(3 + 2 * i));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    for (uint32_t i = 0; i < w.flows; ++i) {
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(sinks[i % w.pairs], 5001));
        bulk.SetAttribute("MaxBytes", UintegerValue(uint64_t{w.segments} * kSegment));
        bulk.SetAttribute("SendSize", UintegerValue(kSegment));
        bulk.Install(nodes.Get(2 + 2 * (i % w.pairs))).Start(Seconds(i * w.gap));
    }
    Simulator::Stop(Seconds(w.stop));
    Simulator::Run();
    uint64_t hops = 0;
    for (const auto &device : g_devices) hops += device->GetQueue()->GetTotalReceivedPackets();
    std::cout << "hops " << hops << std::endl;
    Simulator::Destroy();
}
