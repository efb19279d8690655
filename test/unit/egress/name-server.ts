import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';

/** What the name server knows about a name: its addresses or names, `silent` if it never answers, or a response code. */
export type Zone = readonly string[] | 'silent' | 'not_found' | 'refused' | 'fails';

const CODES = { refused: 5, not_found: 3, fails: 2 } as const;
const TYPE_A = 1;
const TYPE_AAAA = 28;
const TYPE_PTR = 12;
const TYPE_MX = 15;
const TYPES = { [TYPE_A]: 'A', [TYPE_AAAA]: 'AAAA', [TYPE_PTR]: 'PTR', [TYPE_MX]: 'MX' } as const;

export type RecordType = (typeof TYPES)[keyof typeof TYPES];

export interface NameServer {
  /** `address:port`, in the format of the resolver's server list. */
  readonly address: string;
  /** Queries in order, one for each record type: `a.test 1`. */
  readonly asked: string[];
  close(): void;
}

/** A name server on loopback, over UDP. */
export async function startNameServer(zoneOf: (name: string, type: RecordType) => Zone): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (message, from) => {
    const { name, type, end } = questionOf(message);
    asked.push(`${name} ${type}`);
    const zone = zoneOf(name, TYPES[type as keyof typeof TYPES] ?? 'A');
    if (zone !== 'silent') socket.send(answerTo(message.subarray(0, end), type, zone), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => void socket.close() };
}

function questionOf(message: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.latin1Slice(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function answerTo(question: Buffer, type: number, zone: Exclude<Zone, 'silent'>): Buffer {
  const addresses =
    typeof zone === 'string' ? [] : zone.filter((one) => typeOf(one) === (type === TYPE_MX ? TYPE_PTR : type));
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180 | (typeof zone === 'string' ? CODES[zone] : 0), 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...addresses.map((one) => recordOf(one, type))]);
}

function recordOf(address: string, type: number): Buffer {
  const data = dataOf(address, type);
  const record = Buffer.alloc(12);
  // Pointer to the name in the question.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(60, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}

function dataOf(text: string, type: number): Buffer {
  if (type === TYPE_PTR) return bytesOfName(text);
  // Preference 10.
  if (type === TYPE_MX) return Buffer.concat([Buffer.from([0, 10]), bytesOfName(text)]);
  return isIPv4(text) ? Buffer.from(text.split('.').map(Number)) : bytesOfV6(text);
}

function typeOf(text: string): number {
  if (isIPv4(text)) return TYPE_A;
  return text.includes(':') ? TYPE_AAAA : TYPE_PTR;
}

function bytesOfName(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  return Buffer.concat([...labels, Buffer.from([0])]);
}

/** Supports one `::` at most. */
function bytesOfV6(address: string): Buffer {
  const [left = '', right = ''] = address.split('::');
  const groups = (text: string): number[] =>
    text
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16));
  const [front, back] = [groups(left), groups(right)];
  const all = [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]));
}
