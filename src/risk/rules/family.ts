/** Rules of one family are about the same evidence: only the strongest that fired counts. */
export type Family =
  | 'list'
  | 'registry'
  | 'client'
  | 'tls'
  | 'device'
  | 'network'
  | 'ip_volume'
  | 'entity_volume'
  | 'session_volume'
  | 'population'
  | 'movement'
  | 'token'
  | 'journey'
  | 'probe'
  | 'identity'
  | 'model'
  | 'own';
