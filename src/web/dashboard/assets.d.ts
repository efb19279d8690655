/** Files that the bundler understands besides TypeScript. */
declare module '*.lazy.css' {
  /** Its URL. */
  const href: string;
  export default href;
}
declare module '*.css';
/**
 * JSON Schemas of `src/contract`, which the bundler puts here (`scripts/bundle-web.ts`): a form that is made from them cannot lag behind.
 * The fields of each delivery besides those that choose it; a field that is a secret has `writeOnly`.
 */
declare const DELIVERY_SCHEMAS: Readonly<Record<'webhook' | 's3' | 'http_put', Readonly<Record<string, unknown>>>>;
