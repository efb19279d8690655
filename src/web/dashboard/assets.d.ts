/** Files that the bundler understands besides TypeScript. */
declare module '*.lazy.css' {
  /** Its URL. */
  const href: string;
  export default href;
}
declare module '*.css';
