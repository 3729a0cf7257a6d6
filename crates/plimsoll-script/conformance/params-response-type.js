/* { "does": "bodies come as text, as bytes or not at all", "console": ["string true 4 254 null"] } */
import http from 'k6/http';
export default function () {
  const of = (responseType) => http.get('http://h.test/bytes', { responseType }).body;
  const bytes = of('binary');
  console.log(typeof of('text'), bytes instanceof ArrayBuffer, bytes.byteLength, new Uint8Array(bytes)[2], of('none'));
}
