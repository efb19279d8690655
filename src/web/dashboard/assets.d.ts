/** Files that the bundler understands besides TypeScript. */
declare module '*.lazy.css' {
  /** Its URL. */
  const href: string;
  export default href;
}
declare module '*.css';
/** JSON Schemas of `src/contract`, which the bundler writes (`scripts/bundle-web.ts`): a form that is made from them cannot lag behind. */
declare module 'contract:extraction-delivery' {
  /** The fields of each delivery besides those that choose it; a field that is a secret has `writeOnly`. */
  const schemas: Readonly<Record<'webhook' | 's3' | 'http_put', Readonly<Record<string, unknown>>>>;
  export default schemas;
}
