/**
 * Address blocks of real networks, by their use. Generated addresses are checked against the installed location database, so a block that
 * has changed its owner costs additional draws but puts nobody into another country.
 *
 * Source: the operators' published announcements, as registered in 2025.
 */

/** Fixed lines of homes and offices. */
export const FIXED_BLOCKS = {
  DE: '79.192.0.0/10 84.128.0.0/10 87.128.0.0/10 91.0.0.0/10 93.192.0.0/10 217.224.0.0/11 217.80.0.0/12 88.64.0.0/12 92.72.0.0/13 77.20.0.0/14 91.64.0.0/14 95.88.0.0/14 188.96.0.0/12 178.24.0.0/14 77.176.0.0/12 78.48.0.0/13 85.176.0.0/13 89.12.0.0/14 92.224.0.0/13 95.112.0.0/13',
  IT: '79.0.0.0/10 87.0.0.0/12 82.48.0.0/12 95.224.0.0/11 151.16.0.0/12 151.32.0.0/11 151.64.0.0/12 93.32.0.0/11 2.224.0.0/12 2.32.0.0/12 31.156.0.0/14',
  CA: '99.224.0.0/11 72.136.0.0/13 64.228.0.0/14 70.48.0.0/13 142.112.0.0/12 24.64.0.0/13 70.64.0.0/12 184.64.0.0/13 68.144.0.0/13 75.152.0.0/13 24.200.0.0/14 70.80.0.0/14 96.20.0.0/14 173.176.0.0/13',
} as const;

/** Mobile carriers, whose customers share gateway addresses. */
export const MOBILE_BLOCKS = {
  DE: '80.187.64.0/18 109.40.0.0/13 46.114.0.0/15 176.0.0.0/13',
  IT: '37.159.0.0/16 5.168.0.0/14 5.88.0.0/13 62.18.0.0/15',
  CA: '74.198.0.0/16 184.151.0.0/16 72.138.0.0/16 209.171.88.0/21',
} as const;

/** IPv6 prefixes of fixed lines: the first two groups. */
export const IPV6_PREFIXES = {
  DE: ['2003:c0', '2003:e5', '2a02:8108', '2a02:810d', '2a02:908'],
  IT: ['2001:b07', '2a01:e11'],
  CA: ['2607:fea8', '2001:56a', '2604:3d09', '2607:fa48', '2001:1970'],
} as const;

/** Fixed lines in other countries, for travellers and for attackers' residential proxies. */
export const ABROAD_BLOCKS = {
  FR: '90.0.0.0/9 82.64.0.0/14',
  ES: '83.32.0.0/11 88.0.0.0/11 79.144.0.0/12',
  GB: '86.128.0.0/10 86.0.0.0/11',
  US: '73.0.0.0/8 24.0.0.0/12 98.192.0.0/10 76.96.0.0/11',
  TR: '78.160.0.0/11 88.224.0.0/11',
  JP: '126.0.0.0/8',
  AE: '94.200.0.0/13',
  TH: '171.96.0.0/13 49.228.0.0/14',
  BR: '177.0.0.0/10 189.0.0.0/10',
  IN: '117.192.0.0/10',
  VN: '113.160.0.0/11 14.160.0.0/11',
  RU: '95.24.0.0/13 178.64.0.0/13',
  ID: '36.64.0.0/11',
  NG: '105.112.0.0/12 197.210.0.0/16',
} as const;

/** Where people of the three countries fly to. */
export const DESTINATIONS = ['FR', 'ES', 'GB', 'US', 'TR', 'JP', 'AE', 'TH'] as const;

/** Hosting networks: Amazon, Hetzner, OVH, DigitalOcean, Google, Microsoft, Linode, Vultr, Contabo. */
export const HOSTING_BLOCKS =
  '3.120.0.0/14 18.184.0.0/15 5.9.0.0/16 136.243.0.0/16 159.69.0.0/16 51.38.0.0/16 51.75.0.0/16 145.239.0.0/16 138.68.0.0/16 159.203.0.0/16 188.166.0.0/16 34.64.0.0/10 20.48.0.0/12 40.64.0.0/10 139.162.0.0/16 45.76.0.0/16 161.97.64.0/18';
/** IPv6 prefixes of hosting networks: the first two groups (Hetzner, OVH). */
export const HOSTING_IPV6_PREFIXES = ['2a01:4f8', '2001:41d0'] as const;

/** Exits of public VPN services. */
export const VPN_BLOCKS = '146.70.0.0/16 37.120.128.0/17 185.156.172.0/22 89.238.128.0/18';

/** Cloud proxies that companies route their staff's traffic through. */
export const COMPANY_CLOUD_BLOCKS = '165.225.0.0/17 147.161.128.0/17 136.226.0.0/16 163.116.128.0/17';

/** Exits of Apple's private relay, at Cloudflare, Akamai and Fastly. */
export const RELAY_BLOCKS = '104.28.0.0/16 172.224.0.0/14 146.75.128.0/17';
