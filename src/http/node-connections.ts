import type { Server, Socket } from 'node:net';
import { ConnectionRoom, ExactCounts } from './connection-room.ts';
import type { TransportOptions } from './transport.ts';

/**
 * Closes connections beyond the bounds as soon as they are accepted, before a TLS handshake. Must be called after the server has its
 * listeners of 'connection': they get only the connections that stay.
 */
export function boundConnections(
  server: Server,
  { connections: bounds, trustedProxies, tls }: Pick<TransportOptions, 'connections' | 'trustedProxies' | 'tls'>,
): ConnectionRoom | null {
  if (bounds === undefined) return null;
  const room = new ConnectionRoom(bounds, trustedProxies, new ExactCounts(), tls !== null);
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (!room.enter(address)) {
      socket.destroy();
      return;
    }
    socket.once('close', () => room.leave(address));
    for (const listener of listeners) listener.call(server, socket);
  });
  return room;
}
