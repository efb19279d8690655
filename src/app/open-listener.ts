import type { Handler } from '../http/exchange.ts';
import { TrustedProxies } from '../http/trusted-proxies.ts';
import type { ListeningAddress } from '../egress/public-address.ts';
import { boundsWithin, type ConnectionBounds } from '../http/connection-room.ts';
import { descriptorsMax } from '../http/descriptors.ts';
import { listen } from '../http/listen.ts';
import type { Transport, TransportOptions } from '../http/transport.ts';
import { SOURCE_HANDSHAKES_MAX } from '../kernel/limits.ts';
import type { Settings } from './settings.ts';

/** The service's port. Opened first at a start: if that fails, the start creates and changes nothing. */
export interface Listener {
  readonly kind: 'open';
  readonly transport: Transport;
  /** Reason for the choice of the transport, if there is one. */
  readonly transportDetail: string;
  readonly address: ListeningAddress;
  readonly url: string;
  readonly trustedProxies: TrustedProxies;
  /** Replaces the handler of all further requests. */
  lead(onRequest: Handler, onCrash: TransportOptions['onCrash']): void;
  /** Also listens on a free loopback port, with the same transport without TLS; null if it cannot. */
  openBeside(onRequest: Handler): Promise<{ readonly port: number; close(): void } | null>;
}

/** Returns where the service listens: deliveries and extractions may not reach these addresses. */
export function listenAddressesOf(
  listener: Listener,
  dashboardListener: Listener | null,
): readonly Listener['address'][] {
  return [listener, ...(dashboardListener === null ? [] : [dashboardListener])].map(({ address }) => address);
}

/** `isSetting`: restarting does not help before the settings change. */
export interface ListenerFault {
  readonly kind: 'fault';
  readonly detail: string;
  readonly isSetting: boolean;
}

/** `sourceHandshakesMax`: of tests, which use a smaller one. */
type ListenerSettings = Pick<
  Settings,
  'host' | 'port' | 'tls' | 'transport' | 'trustedProxies' | 'connectionsMax' | 'sourceConnectionsMax'
> &
  Partial<Pick<Settings, 'dataDir' | 'cells'> & Pick<ConnectionBounds, 'sourceHandshakesMax'>>;

/**
 * Listens. Until `lead` is called, requests go to `onRequest`, which must respond that the service is starting. `setting` names the port in
 * messages.
 */
export async function openListener(
  settings: ListenerSettings,
  onRequest: Handler,
  onCrash: TransportOptions['onCrash'],
  setting = 'GATEHOUSE_PORT',
): Promise<Listener | ListenerFault> {
  const { host, port, tls, dataDir, cells = 1 } = settings;
  const scratch = dataDir === undefined ? {} : { dataDir };
  const handlers = { onRequest, onCrash };
  const trustedProxies = new TrustedProxies(settings.trustedProxies);
  const threads = cells === 1 ? null : { count: cells, trustedProxies: settings.trustedProxies };
  const options = {
    ...scratch,
    host,
    port,
    tls,
    trustedProxies,
    connections: boundsWithin(descriptorsMax(), { sourceHandshakesMax: SOURCE_HANDSHAKES_MAX, ...settings }),
    onRequest: (head, exchange) => handlers.onRequest(head, exchange),
    onCrash: (error, exchange) => handlers.onCrash(error, exchange),
  } satisfies TransportOptions;
  const listening = await listen(settings.transport, options, threads);
  if (listening.kind === 'unavailable') {
    return { kind: 'fault', detail: `GATEHOUSE_TRANSPORT is uws, but ${listening.detail}`, isSetting: true };
  }
  if (listening.kind === 'refused') {
    // Another process may end, and an address or a name may become available, for example while a machine boots.
    return { kind: 'fault', detail: refusalText(listening.code, host, port, setting), isSetting: false };
  }
  const { transport, detail: transportDetail } = listening;
  const scheme = tls === null ? 'http' : 'https';
  return {
    kind: 'open',
    transport,
    transportDetail,
    trustedProxies,
    address: { host, port: transport.port },
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${transport.port}`,
    async openBeside(besideRequest) {
      const beside = await listen(transport.name, {
        host: '127.0.0.1',
        port: 0,
        tls: null,
        trustedProxies,
        onRequest: besideRequest,
        onCrash,
      });
      return beside.kind === 'listening'
        ? { port: beside.transport.port, close: () => beside.transport.drain() }
        : null;
    },
    lead(nextRequest, nextCrash) {
      handlers.onRequest = nextRequest;
      handlers.onCrash = nextCrash;
    },
  };
}

/** Returns a message that names the setting to change. */
function refusalText(code: string, host: string, port: number, setting: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `${setting}: port ${port} of ${host} is taken by another process (${code})`;
    case 'EACCES':
      return `${setting}: this user may not listen on port ${port} of ${host} (${code})`;
    case 'EADDRNOTAVAIL':
      return `GATEHOUSE_HOST: ${host} is not an address of this machine (${code})`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `GATEHOUSE_HOST: the name ${host} cannot be looked up (${code})`;
    default:
      return `GATEHOUSE_HOST and ${setting}: cannot listen on ${host}, port ${port}${code === '' ? '' : ` (${code})`}`;
  }
}
