import type { BrowserFamily } from './agent-families.ts';

/**
 * Maps a TLS fingerprint to a kind of client. Contains only published values that no other publication contradicts: many public tables map
 * one value to several programs, or contain values that no ClientHello hashes to.
 *
 * JA4 is `a_b_c`: `a` the handshake's shape, `b` a hash of the ciphers, `c` one of extensions and signature algorithms.
 * - Browsers are identified by `c` alone. `a` counts what varies within one browser (SNI, pre-shared key) and `b` is not specific enough:
 *   Chrome, Firefox 153 and Tor share 8daaf6152771, Safari 26 can share f57a46bbacb6 with Go.
 * - Tools are identified by `b_c`: curl, requests and openssl share `c`, and each of the two differs from every browser's.
 *
 * JA3 hashes the extensions in the order sent, which Chrome permutes on every connection from version 110 on and Firefox from 114. So their
 * newer versions have no JA3 that could be listed, and an unknown value has no meaning.
 * Excludes libraries of mobile apps (okhttp, CFNetwork): they are honest clients of a customer's own app.
 */
export type TlsClient =
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'browser'; readonly family: KnownFamily };

export type KnownFamily = Exclude<BrowserFamily, 'other'>;

/** The third part of a browser's JA4. */
const JA4_BROWSERS = new Map<string, KnownFamily>([
  // Source: FoxIO's JA4 README and ja4plus-mapping.csv, "Chrome" and "Chromium Browser".
  ['02713d6af862', 'chromium'],
  ['b0da82dd1658', 'chromium'],
  ['b1ff8ab2d16f', 'chromium'],
  ['06cda9e17597', 'chromium'],
  // Source: the worked example of FoxIO's JA4 specification, Chrome up to 106.
  ['e5627efa2ab1', 'chromium'],
  // Source: captures by tls.peet.ws and browserleaks.com in public repositories: Chrome 133 to 149, then 150 on, then with a
  // pre-shared key.
  ['d8a2da3f94cd', 'chromium'],
  ['806a8c22fdea', 'chromium'],
  ['541cd5a3d78e', 'chromium'],
  // Source: FoxIO's test capture tls12.pcap, Firefox 105; then 120; 133; 135 to 152 and 156.
  ['3d5424432f57', 'firefox'],
  ['5c2c66f702b0', 'firefox'],
  ['eeeea6562960', 'firefox'],
  ['3cbfd9057e0d', 'firefox'],
  ['a54fffd0eb61', 'firefox'],
  ['68c5a8c2958d', 'firefox'],
  // Source: curl_cffi's profile tor145, Tor Browser.
  ['748f4c70de1c', 'firefox'],
  // Source: captures of iPhones and of macOS in public repositories: Safari 16, 18.5, 26.
  ['14788d8d241b', 'safari'],
  ['e42f34c56612', 'safari'],
  ['7f0f34a4126d', 'safari'],
  ['d0a99439f9b1', 'safari'],
]);

/** The second and third part of a tool's JA4. */
const JA4_TOOLS = new Map<string, string>([
  // Source: FoxIO's ja4plus-mapping.csv.
  ['85036bcba153_d41ae481755e', 'Python'],
  ['9dc949149365_97f8aa674fd9', 'Go'],
  ['9dc949149365_e7c285222651', 'Evilginx'],
  ['fcb5b95cb75a_b0d3b4ac2a14', 'SoftEther VPN client'],
  ['2b729b4bf6f3_9e7b989ebec8', 'IcedID'],
  ['d83cc789557e_16bbda4055b2', 'Cobalt Strike'],
  ['76e208dd3e22_16bbda4055b2', 'Cobalt Strike'],
  // Source: several public captures each. Measured: the first of each was also seen from the program itself (curl 7.88,
  // requests 2.x on Python 3, Node 20 fetch).
  ['e8f1e7e78f70_b26ce05bbdd6', 'curl or requests on OpenSSL 3'],
  ['85036bcba153_b26ce05bbdd6', 'Python requests'],
  ['85036bcba153_375ca2c5e164', 'Python requests'],
  ['a33745022dd6_1f22a2ca17c4', 'Node.js'],
  ['a33745022dd6_dbd39dd1d406', 'Node.js'],
  ['f57a46bbacb6_ab7e3b40a677', 'Go'],
  ['f57a46bbacb6_f50d94e863eb', 'Go'],
  ['60e844d7c027_c9e58cc61e36', 'Python httpx'],
]);

const JA3 = new Map<string, TlsClient>([
  // Source: bogdanfinn/tls-client, expected fingerprints of its browser profiles, with the full texts that hash to them.
  ['cd08e31494f9531f560d64c695473da9', browser('chromium')],
  ['02c2abd658e2eca2f848a948c87061d8', browser('firefox')],
  ['579ccef312d18482fc42e2b822ca2430', browser('firefox')],
  ['773906b0efdefa24a7f2b8eb6985bf37', browser('safari')],
  // Source: captures of iPhones on iOS 26.5 in public repositories, with the full text.
  ['ecdf4f49dd59effc439639da29186671', browser('safari')],
  // Source: curl_cffi's documentation, seen from requests 2.32 on OpenSSL 3.
  ['8d9f7747675e24454cd9b7ed35c58707', tool('Python requests')],
  // Source: fingerproxy's README. Measured: seen from curl 7.88 itself.
  ['0149f47eabf9a20d0893e2a44e5a6323', tool('curl')],
  // Source: several public captures; measured from the program itself: requests on Python 3, Node 20 fetch.
  ['a48c0d5f95b1ef98f560f324fd275da1', tool('Python requests')],
  ['1a28e69016765d92e3b381168d68922c', tool('Node.js')],
  // Source: several public captures of Go's own TLS, and one audit log entry of go-resty.
  ['03117a8ed39ef02427ebbc39f121275c', tool('Go')],
  ['e69402f870ecf542b4f017b0ed32936a', tool('Go')],
  // Source: salesforce/ja3, lists/osx-nix-ja3.csv (BSD-3-Clause), entries with one program only.
  ['641df9d6dbe7fdb74f70c8ad93def8cc', tool('Node.js')],
  ['9811c1bb9f0f6835d5c13a831cca4173', tool('Node.js')],
  ['d219efd07cbb8fbe547e6a5335843f0f', tool('Ruby')],
  ['093081b45872912be9a1f2a8163fe041', tool('Java')],
  ['2080bf56cb87e64303e27fcd781e7efd', tool('Java')],
  ['225a24b45f0f1adbc2e245d4624c6e08', tool('Java')],
  ['3afe1fb5976d0999abe833b14b7d6485', tool('Java')],
  ['3b844830bfbb12eb5d2f8dc281d349a9', tool('Java')],
  ['51a7ad14509fd614c7bb3a50c4982b8c', tool('Java')],
  ['550628650380ff418de25d3d890e836e', tool('Java')],
  ['5b270b309ad8c6478586a15dece20a88', tool('Java')],
  ['7c7a68b96d2aab15d678497a12119f4f', tool('Java')],
  ['88afa0dea1608e28f50acbad32d7f195', tool('Java')],
]);

function tool(name: string): TlsClient {
  return { kind: 'tool', name };
}

function browser(family: KnownFamily): TlsClient {
  return { kind: 'browser', family };
}

/** Protocol, version, SNI, two counts, first and last character of the ALPN; then the two hashes. */
const JA4_FORM = /^[tqd](?:\d\d|s[23]|d[123])[di]\d{4}[0-9a-z]{2}_([0-9a-f]{12})_([0-9a-f]{12})$/;
const JA3_FORM = /^[0-9a-f]{32}$/;

/** Returns the client behind the headers `x-svc-ja4` and `x-svc-ja3`, JA4 first; null when absent, malformed or unknown. */
export function findTlsClient(headers: ReadonlyMap<string, string>): TlsClient | null {
  const ja4 = headers.get('x-svc-ja4');
  if (ja4 !== undefined) {
    const client = readJa4(ja4);
    if (client !== null) return client;
  }
  const ja3 = headers.get('x-svc-ja3')?.trim().toLowerCase();
  return ja3 !== undefined && JA3_FORM.test(ja3) ? (JA3.get(ja3) ?? null) : null;
}

function readJa4(text: string): TlsClient | null {
  const match = JA4_FORM.exec(text.trim().toLowerCase());
  const [, ciphers, extensions] = match ?? [];
  if (ciphers === undefined || extensions === undefined) return null;
  const name = JA4_TOOLS.get(`${ciphers}_${extensions}`);
  if (name !== undefined) return tool(name);
  const family = JA4_BROWSERS.get(extensions);
  return family === undefined ? null : browser(family);
}
