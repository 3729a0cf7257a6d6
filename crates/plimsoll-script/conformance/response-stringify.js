/* { "does": "JSON.stringify of a response shows its members", "console": ["remote_ip,remote_port,url,status,status_text,proto,headers,cookies,body,timings,tls_version,tls_cipher_suite,ocsp,error,error_code,request"] } */
import http from 'k6/http';
export default function () {
  const plain = JSON.parse(JSON.stringify(http.get('http://h.test/')));
  console.log(Object.keys(plain).join());
}
