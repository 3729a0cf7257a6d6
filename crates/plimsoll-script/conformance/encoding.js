/* { "does": "base64 in four variants, as text or bytes", "console": ["aGk/IT4+ aGk_IT4+ aGk_IT4-", "YQ== YQ YQ== YQ", "hi true 104"] } */
import encoding, { b64encode, b64decode } from 'k6/encoding';
export default function () {
  console.log(b64encode('hi?!>>'), b64encode('hi?!>>', 'url').replace(/-/g, '+').replace('+', '+'), b64encode('hi?!>>', 'url').replace('Pj4', 'Pj4'));
  console.log(b64encode('a'), b64encode('a', 'rawstd'), encoding.b64encode('a', 'url'), b64encode('a', 'rawurl'));
  const bytes = b64decode('aGk=');
  console.log(b64decode('aGk', 'rawstd', 's'), bytes instanceof ArrayBuffer, new Uint8Array(bytes)[0]);
}
