import type { Handler } from './base/exchange.ts';
import { TrustedProxies } from './base/trusted-proxies.ts';
import type { ListeningAddress } from './egress/address.ts';
import { listen } from './http/listen.ts';
import type { Transport, TransportOptions } from './http/transport.ts';
import type { Settings } from './settings.ts';

/** The service's port. A start takes it first: one that cannot have it makes and changes nothing. */
export interface Door {
  readonly kind: 'open';
  readonly transport: Transport;
  /** Why this transport, where there is a reason. */
  readonly transportDetail: string;
  readonly address: ListeningAddress;
  readonly url: string;
  readonly trustedProxies: TrustedProxies;
  /** Replaces the handler: from now on requests go to this one. */
  lead(onRequest: Handler, onCrash: TransportOptions['onCrash']): void;
  /** Listens on a free port of the loopback as well, by the same transport without TLS; null where it cannot. */
  openBeside(onRequest: Handler): Promise<{ readonly port: number; close(): void } | null>;
}

/** `isSetting`: starting again helps nobody before the settings change. */
export interface DoorFault {
  readonly kind: 'fault';
  readonly detail: string;
  readonly isSetting: boolean;
}

type DoorSettings = Pick<Settings, 'host' | 'port' | 'tls' | 'transport' | 'trustedProxies'>;

/** Listens. Until `lead` is called, requests go to `onRequest`, which is to tell that the service starts. */
export async function openDoor(
  settings: DoorSettings,
  onRequest: Handler,
  onCrash: TransportOptions['onCrash'],
): Promise<Door | DoorFault> {
  const { host, port, tls } = settings;
  const handlers = { onRequest, onCrash };
  const trustedProxies = new TrustedProxies(settings.trustedProxies);
  const listening = await listen(settings.transport, {
    host,
    port,
    tls,
    trustedProxies,
    onRequest: (head, exchange) => handlers.onRequest(head, exchange),
    onCrash: (error, exchange) => handlers.onCrash(error, exchange),
  });
  if (listening.kind === 'unavailable') {
    return { kind: 'fault', detail: `GATEHOUSE_TRANSPORT is uws, but ${listening.detail}`, isSetting: true };
  }
  if (listening.kind === 'refused') {
    // Another process may end, and an address or a name may be there in a moment, as while a machine starts.
    return { kind: 'fault', detail: refusalText(listening.code, host, port), isSetting: false };
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

/** Names the setting that has to change. */
function refusalText(code: string, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `GATEHOUSE_PORT: port ${port} of ${host} is taken by another process (${code})`;
    case 'EACCES':
      return `GATEHOUSE_PORT: this user may not listen on port ${port} of ${host} (${code})`;
    case 'EADDRNOTAVAIL':
      return `GATEHOUSE_HOST: ${host} is not an address of this machine (${code})`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `GATEHOUSE_HOST: the name ${host} cannot be looked up (${code})`;
    default:
      return `GATEHOUSE_HOST and GATEHOUSE_PORT: cannot listen on ${host}, port ${port}${code === '' ? '' : ` (${code})`}`;
  }
}
