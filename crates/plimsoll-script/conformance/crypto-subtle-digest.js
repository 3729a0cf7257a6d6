/* { "own_context": "promises", "does": "crypto.subtle hashes bytes", "console": ["ba7816bf 32", "a9993e36 20", "48", "64"] } */
const hex = (buffer) => Array.from(new Uint8Array(buffer).slice(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join('');
export default async function () {
  const abc = new Uint8Array([97, 98, 99]);
  const long = await crypto.subtle.digest('SHA-256', abc);
  console.log(hex(long), long.byteLength);
  const short = await crypto.subtle.digest({ name: 'sha-1' }, abc.buffer);
  console.log(hex(short), short.byteLength);
  for (const name of ['SHA-384', 'SHA-512']) {
    console.log(String((await crypto.subtle.digest(name, abc)).byteLength));
  }
}
