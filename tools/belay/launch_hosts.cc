#include "belay/launch_hosts.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "base/descriptor.h"

namespace belay::tool {
namespace {

struct Place {
  sockaddr_storage address{};
  socklen_t length = 0;
};

bool IsLoopback(const Place& place) {
  if (place.address.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(place.address).sin6_addr);
  return reinterpret_cast<const uint8_t*>(&reinterpret_cast<const sockaddr_in&>(place.address).sin_addr)[0] ==
         127;
}

// Version 4 first: that is what programs take where nothing else is said.
Place Find(const std::string& name) {
  const std::string host = name.substr(name.find('@') + 1);
  for (int family : {AF_INET, AF_INET6}) {
    addrinfo hints = {}, *found = nullptr;
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) continue;
    Place place;
    place.length = found->ai_addrlen;
    std::memcpy(&place.address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return place;
  }
  return {};
}

// From where this machine reaches that one.
Place OwnPlaceTowards(Place other) {
  auto* generic = reinterpret_cast<sockaddr*>(&other.address);
  reinterpret_cast<sockaddr_in&>(other.address).sin_port = htons(9);  // at the same place in both versions
  const Descriptor socket(::socket(other.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  Place own;
  own.length = sizeof own.address;
  if (!socket || connect(socket.get(), generic, other.length) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.address), &own.length) != 0)
    return {};
  return own;
}

std::string TextOf(const Place& place) {
  char text[NI_MAXHOST] = "";
  if (place.length == 0 || getnameinfo(reinterpret_cast<const sockaddr*>(&place.address), place.length, text,
                                       sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  return text;
}

// Names go into a command line for a shell.
void CheckName(const std::string& name) {
  const bool usable = !name.empty() && name[0] != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("._-:@%", c) != nullptr;
  });
  if (!usable)
    throw std::runtime_error("--hosts: '" + name + "' is no host; give names or addresses, such as a,b");
}

}  // namespace

std::vector<LaunchHost> ReadHosts(const std::string& list, int ranks) {
  std::vector<LaunchHost> hosts;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    CheckName(name);
    if (std::any_of(hosts.begin(), hosts.end(), [&](const LaunchHost& host) { return host.name == name; }))
      throw std::runtime_error("--hosts: '" + name +
                               "' stands there twice; the ranks of a host are one part");
    hosts.push_back({name, "", 0, 0});
  }
  const auto count = static_cast<int>(hosts.size());
  if (count == 0 || count > ranks) {
    throw std::runtime_error("--hosts: " + std::to_string(ranks) + " ranks on " + std::to_string(count) +
                             " hosts; each has one at least");
  }
  std::vector<Place> places;
  for (const LaunchHost& host : hosts) places.push_back(Find(host.name));
  // A name of this very machine often leads to loopback, where others do not find it.
  const auto far = std::find_if(places.begin(), places.end(),
                                [](const Place& place) { return place.length != 0 && !IsLoopback(place); });
  for (int i = 0, first = 0; i < count; ++i) {
    LaunchHost& host = hosts[static_cast<size_t>(i)];
    Place& place = places[static_cast<size_t>(i)];
    const bool is_here = place.length != 0 && IsLoopback(place);
    host.address = TextOf(is_here && far != places.end() ? OwnPlaceTowards(*far) : place);
    host.first = first;
    host.count = ranks / count + (i < ranks % count ? 1 : 0);
    first += host.count;
  }
  return hosts;
}

}  // namespace belay::tool
