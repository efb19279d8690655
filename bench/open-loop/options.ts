import { parseUrl } from '../../src/kernel/parse-url.ts';
import { Command, InvalidArgumentError, Option } from 'commander';
import { EVENTS, type EventMix } from '../traffic.ts';
import { ARRIVAL_PROCESSES, type ArrivalProcess } from './plan.ts';

export interface LoadOptions {
  /** Origin of a running server; without it the bench starts the built server on a temporary data directory. */
  readonly url?: string;
  readonly key?: string;
  readonly rate: readonly number[];
  readonly seconds: number;
  readonly warmUp: number;
  readonly rounds: number;
  readonly connections: number;
  readonly arrivals: ArrivalProcess;
  readonly seed: number;
  readonly mix?: EventMix;
  readonly sessions: number;
  readonly collector: number;
  readonly headers: number;
  readonly transport: 'uws' | 'node';
  readonly echo: boolean;
  readonly fromStart: boolean;
  readonly json?: string;
  readonly picture?: string;
  readonly nodeFlags: readonly string[];
  readonly allowRemote: boolean;
}

/** Choice: above the rate that one Node.js process can send and measure. */
const RATE_MAX = 30_000;
const SECONDS_MAX = 600;
/** Choice: the sender keeps 20 bytes per request; this is enough for nine minutes at 4,000/s. */
const REQUESTS_MAX = 2_500_000;
const CONNECTIONS_MAX = 2_000;
const ROUNDS_MAX = 50;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;

/** Prints the error or the help to the terminal and throws a `CommanderError`. */
export function readOptions(argv: readonly string[]): LoadOptions {
  const command = new Command('npm run bench:load --')
    .description(
      'Open-loop load on POST /v1/decide: signed requests with unique ids are sent when they are due, regardless of earlier\n' +
        'responses, and latency counts from the due time of a request. Compares with a bare echo server through the same client.',
    )
    .option('--url <origin>', 'a running server; default: starts the built server on a temporary data directory')
    .option('--key <key>', 'sk_live_… or pk_live_…; required with --url')
    .option('--rate <per second,…>', 'one or more request rates', numbers('a rate', 1, RATE_MAX), [1_000, 2_000, 4_000])
    .option('--seconds <n>', 'measured time per phase', number('seconds', 1, SECONDS_MAX), 10)
    .option(
      '--warm-up <n>',
      'seconds of load before the measurement, shown only in the picture',
      number('seconds', 0, 60),
      3,
    )
    .option('--rounds <n>', 'phases per target and rate, alternating', number('rounds', 1, ROUNDS_MAX), 3)
    .option('--connections <n>', 'keep-alive connections', number('connections', 1, CONNECTIONS_MAX), 128)
    .addOption(new Option('--arrivals <process>', 'spacing of the requests').choices(ARRIVAL_PROCESSES).default('even'))
    .option('--seed <n>', 'seed of arrivals and bodies', number('a seed', 0, 2 ** 31), 1)
    .option('--mix <type=weight,…>', `event types by weight (${EVENTS.join(', ')}); equal weights by default`, mix)
    .option('--sessions <n>', 'concurrent sessions', number('sessions', 1, 1_000_000), 20_000)
    .option('--collector <share>', 'share of the sessions with a collector token', number('a share', 0, 1, false), 0.6)
    .option(
      '--headers <share>',
      'share of the sessions that pass their headers on',
      number('a share', 0, 1, false),
      0.5,
    )
    .addOption(
      new Option('--transport <name>', 'transport of the started server').choices(['uws', 'node']).default('uws'),
    )
    .option('--no-echo', 'skip the bare echo server')
    .option(
      '--from-start',
      'restart the server for each phase and load it from its first second, without warm-up',
      false,
    )
    .option('--json <file>', 'write all figures to a file')
    .option('--picture <file>', 'write percentile curves and time lines as SVG')
    .option('--node-flags <flags>', 'flags for the started server, for example "--cpu-prof"', words, [])
    .option('--allow-remote', 'permit a --url on another machine', false)
    .exitOverride()
    .parse(argv);
  const options = command.opts<LoadOptions>();
  const fault = faultOf(options);
  if (fault !== null) command.error(`error: ${fault}`);
  return options.fromStart ? { ...options, warmUp: 0 } : options;
}

function faultOf({ url, key, rate, seconds, warmUp, allowRemote, fromStart }: LoadOptions): string | null {
  const requests = Math.max(...rate) * (seconds + warmUp);
  if (requests > REQUESTS_MAX)
    return `a phase of ${requests} requests; at most ${REQUESTS_MAX} can be measured at once`;
  if (url === undefined) return null;
  if (key === undefined) return '--url needs --key';
  if (fromStart) return '--from-start starts the server itself, so it excludes --url';
  const target = parseUrl(url);
  if (target === null || !/^https?:$/.test(target.protocol)) return `${url} is not an http or https address`;
  return allowRemote || LOOPBACK.test(target.hostname)
    ? null
    : `${target.hostname} is another machine; add --allow-remote if you are permitted to load it`;
}

function number(name: string, least: number, most: number, isWhole = true): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!(value >= least && value <= most) || text.trim() === '' || (isWhole && !Number.isInteger(value)))
      throw new InvalidArgumentError(`expected ${name} from ${least} to ${most}.`);
    return value;
  };
}

function numbers(name: string, least: number, most: number): (text: string) => number[] {
  const one = number(name, least, most);
  return (text) => text.split(',').map(one);
}

function words(text: string): string[] {
  return text.split(' ').filter(Boolean);
}

function mix(text: string): EventMix {
  const weightOf = number('a weight', 0, 1_000_000, false);
  const weights = text.split(',').map((part): [string, number] => {
    const [name = '', weight = ''] = part.split('=');
    if (!(EVENTS as readonly string[]).includes(name))
      throw new InvalidArgumentError(`"${name}" is not one of ${EVENTS.join(', ')}.`);
    return [name, weightOf(weight)];
  });
  if (weights.every(([, weight]) => weight === 0))
    throw new InvalidArgumentError('At least one weight must be positive.');
  return Object.fromEntries(weights);
}
